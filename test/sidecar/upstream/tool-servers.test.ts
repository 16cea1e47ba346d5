// The sources of tool servers: the file, the snapshots, and what each needs from the other.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { request } from 'undici';
import { afterEach, describe, expect, test } from 'vitest';
import { buildIndex, type Index } from '../../../sidecar/engine/decide/build-index.ts';
import { systemClock } from '../../../sidecar/base/clock.ts';
import type { CompiledServer, CompiledSettings } from '@tollgate/proto/contract';
import type { Reach, ToolServer } from '../../../sidecar/upstream/upstream.ts';
import { readGatewayFile } from '../../../sidecar/upstream/gateway-file.ts';
import { createUpstreams, type UpstreamDeps, type Upstreams } from '../../../sidecar/upstream/tool-servers.ts';
import { verifySnapshot } from '../../../sidecar/engine/snapshot/verify.ts';
import { server, snapshotMessage } from '../../support/snapshots.ts';

const made: Upstreams[] = [];
afterEach(async () => {
  await Promise.all(made.splice(0).map((upstreams) => upstreams.close()));
});

function upstreams(file: object = {}, fields: Partial<UpstreamDeps> = {}): Upstreams {
  const read = readGatewayFile(Buffer.from(JSON.stringify(file)), {});
  if ('problems' in read) throw new Error(read.problems.join());
  const one = createUpstreams({
    file: read.file,
    rules: { allowPrivate: false, commands: [process.execPath] },
    resolve: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
    clock: systemClock,
    env: {},
    ...fields,
  });
  made.push(one);
  return one;
}

function indexOf(servers: readonly CompiledServer[], settings: Partial<CompiledSettings> = {}): Index {
  const verified = verifySnapshot(snapshotMessage({ servers, settings }), 'acme');
  if (!verified.ok) throw new Error(verified.message);
  return buildIndex(verified.snapshot);
}

const url = 'https://tools.example/mcp';
const remote = (fields: { readonly url?: string; readonly headers?: readonly string[] } = {}): CompiledServer =>
  server({ name: 'crm', target: { kind: 'url', url, headers: [], ...fields } });
const program = (fields: { readonly program?: string; readonly args?: readonly string[]; readonly env?: readonly string[] } = {}) =>
  server({
    name: 'crm',
    target: { kind: 'command', program: process.execPath, args: ['-e', 'process.stdin.resume()'], env: [], ...fields },
  });

const reachOf = (found: ToolServer | null): Reach => found?.reach ?? { kind: 'unreachable', problem: 'not found' };
const problemOf = (found: ToolServer | null): string => {
  const reach = reachOf(found);
  return reach.kind === 'unreachable' ? reach.problem : reach.kind;
};

describe('of the file', () => {
  test('a server is reached at its configured address, wherever that is', () => {
    const file = { mcpServers: { one: { url: 'http://127.0.0.1:1/mcp', headers: { 'X-A': 'b' } }, two: { command: 'anything' } } };
    const servers = upstreams(file);
    const index = indexOf([]);
    expect(servers.find(index, 'one')).toMatchObject({ name: 'one', reach: { kind: 'http', headers: { 'X-A': 'b' } }, admitted: null });
    expect(servers.find(index, 'two')).toMatchObject({ reach: { kind: 'program' } });
    expect(servers.find(index, 'three')).toBeNull();
  });

  test('it takes precedence over a server of the control plane with that name, and an HTTP tool takes the name too', () => {
    const servers = upstreams({ mcpServers: { crm: { url: 'http://own.test/mcp' } }, httpTools: { billing: { url: 'http://b.test' } } });
    const index = indexOf([remote(), { ...remote(), name: 'billing' }]);
    expect(reachOf(servers.find(index, 'crm'))).toMatchObject({ url: new URL('http://own.test/mcp') });
    expect(servers.find(index, 'billing')).toBeNull();
  });
});

describe('of the control plane', () => {
  test('a server is reached with the values from the file', () => {
    const servers = upstreams({ mcpServers: { crm: { headers: { authorization: 'Bearer x' } } } });
    expect(servers.find(indexOf([remote({ headers: ['Authorization'] })]), 'crm')).toMatchObject({
      reach: { kind: 'http', url: new URL(url), headers: { authorization: 'Bearer x' } },
    });
  });

  test('without a value it is not reached, and the message names the header and its place', () => {
    const index = indexOf([remote({ headers: ['Authorization', 'X-Key'] })]);
    for (const file of [{}, { mcpServers: { crm: { headers: { 'X-Key': 'a' } } } }]) {
      expect(problemOf(upstreams(file).find(index, 'crm'))).toMatch(/"Authorization".*mcpServers\["crm"\]\.headers of the file/);
    }
    expect(problemOf(upstreams().find(indexOf([program({ env: ['TOKEN'] })]), 'crm'))).toMatch(/"TOKEN".*mcpServers\["crm"\]\.env/);
  });

  test('a program is started only if this sidecar allows it', () => {
    expect(problemOf(upstreams().find(indexOf([program()]), 'crm'))).toBe('program');
    const other = indexOf([program({ program: '/bin/sh' })]);
    expect(problemOf(upstreams().find(other, 'crm'))).toBe('is a program that TOLLGATE_TOOL_COMMANDS of this sidecar does not name');
  });

  test.each([
    'http://tools.example/mcp',
    'https://127.0.0.1/mcp',
    'https://[::1]/mcp',
    'https://169.254.169.254/',
    'https://[::ffff:10.0.0.1]/',
  ])('%s is rejected, unless the operator allows it', (place) => {
    const index = indexOf([remote({ url: place })]);
    expect(problemOf(upstreams().find(index, 'crm'))).toMatch(/must begin with https|not at a public address/);
    const rules = { allowPrivate: true, commands: [] };
    expect(problemOf(upstreams({}, { rules }).find(index, 'crm'))).toBe('http');
  });

  test('of an older control plane or in a library no server exists', () => {
    expect(upstreams().find(indexOf([server({ name: 'crm' })]), 'crm')).toBeNull();
  });

  test('a name that resolves to a private address is not connected to, unless the operator allows it', async () => {
    const http = createServer((_request, response) => response.end('inside')).listen(0, '127.0.0.1');
    await once(http, 'listening');
    const { port } = http.address() as AddressInfo;
    const get = async (allowPrivate: boolean): Promise<string> => {
      const servers = upstreams({}, { rules: { allowPrivate, commands: [] } });
      const place = `${allowPrivate ? 'http' : 'https'}://${allowPrivate ? 'localhost' : 'tools.example'}:${port}/`;
      const reach = reachOf(servers.find(indexOf([remote({ url: place })]), 'crm'));
      if (reach.kind !== 'http') throw new Error('not over HTTP');
      const answer = await request(reach.url, { dispatcher: await reach.agent() });
      return answer.body.text();
    };
    await expect(get(false)).rejects.toThrow('is not at a public address');
    expect(await get(true)).toBe('inside');
    http.closeAllConnections();
    http.close();
  });

  test('one private address among several is enough to reject', async () => {
    const resolve = () =>
      Promise.resolve([
        { address: '93.184.216.34', family: 4 },
        { address: '10.0.0.1', family: 4 },
      ]);
    const reach = reachOf(upstreams({}, { resolve }).find(indexOf([remote()]), 'crm'));
    if (reach.kind !== 'http') throw new Error('not over HTTP');
    await expect(request(reach.url, { dispatcher: await reach.agent() })).rejects.toThrow('is not at a public address');
  });
});

describe('a new snapshot', () => {
  test('leaves a server unchanged about which it has nothing new', () => {
    const servers = upstreams();
    const before = servers.find(indexOf([remote()]), 'crm');
    const next = indexOf([remote()]);
    servers.follow(next);
    expect(servers.find(next, 'crm')).toBe(before);
  });

  test('replaces a server that is redefined, and removes one that is gone', () => {
    const servers = upstreams();
    const before = servers.find(indexOf([remote()]), 'crm');
    const moved = indexOf([remote({ url: 'https://other.example/mcp' })]);
    servers.follow(moved);
    expect(servers.find(moved, 'crm')).not.toBe(before);
    expect(reachOf(servers.find(moved, 'crm'))).toMatchObject({ url: new URL('https://other.example/mcp') });
    const gone = indexOf([]);
    servers.follow(gone);
    expect(servers.find(gone, 'crm')).toBeNull();
  });

  test('ends the programs of a server that is redefined or gone', async () => {
    const servers = upstreams();
    const open = async (index: Index): Promise<{ readonly closed: Promise<string> }> => {
      const reach = reachOf(servers.find(index, 'crm'));
      if (reach.kind !== 'program') throw new Error('no program');
      let close: (problem: string) => void;
      const closed = new Promise<string>((resolve) => (close = resolve));
      await reach.open({ message: () => undefined, closed: (problem) => close(problem) });
      return { closed };
    };
    const first = indexOf([program()]);
    const closing = [await open(first), await open(first)];
    servers.follow(indexOf([program({ args: ['-e', 'process.stdin.resume(); 1'] })]));
    expect(await Promise.all(closing.map(({ closed }) => closed))).toEqual(['was closed', 'was closed']);
  });

  test('changes what is admitted, and the server stays the same', () => {
    const digest = 'a'.repeat(64);
    const servers = upstreams({ mcpServers: { own: { url, toolDefinitions: { read: digest } }, crm: { headers: { 'X-A': 'b' } } } });
    const any = indexOf([remote()]);
    const known = servers.find(any, 'crm');
    expect(known?.admitted).toBeNull();
    const pinned = indexOf([{ ...remote(), admitted: [['list', digest]] }], { toolDefinitions: 'pinned' });
    expect(servers.find(pinned, 'crm')).toBe(known);
    expect(known?.admitted).toEqual(new Map([['list', digest]]));
    expect(servers.find(pinned, 'own')?.admitted).toEqual(new Map([['read', digest]]));
    expect(servers.find(indexOf([], { toolDefinitions: 'pinned' }), 'own')?.admitted?.size).toBe(1);
  });

  test('admits nothing of a file server without admitted definitions in a workspace that pins', () => {
    const servers = upstreams({ mcpServers: { own: { url } } });
    expect(servers.find(indexOf([], { toolDefinitions: 'pinned' }), 'own')?.admitted).toEqual(new Map());
  });
});
