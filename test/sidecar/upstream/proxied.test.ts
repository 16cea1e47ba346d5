// Tool servers of the file and of snapshots through the real proxy, with the official client and the official server.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { AddressInfo } from 'node:net';
import { readdirSync, readFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../sidecar/base/clock.ts';
import { readGatewayFile } from '../../../sidecar/upstream/gateway-file.ts';
import { createUpstreams, type UpstreamDeps } from '../../../sidecar/upstream/tool-servers.ts';
import { createTestServer, createTestSidecar } from '../../support/governing.ts';
import { everything } from '../../support/mcp-servers.ts';
import { keyText, server, type World } from '../../support/snapshots.ts';

const everythingArgs = [everything, 'stdio'];

async function startProxy(file: object, world: World = {}, rules: UpstreamDeps['rules'] = { allowPrivate: false, commands: [] }) {
  const read = readGatewayFile(Buffer.from(JSON.stringify(file)), {});
  if ('problems' in read) throw new Error(read.problems.join());
  const sidecar = await createTestSidecar({ world });
  const env = { PATH: process.env['PATH'] ?? '' };
  const toolServers = createUpstreams({ file: read.file, rules, resolve: () => Promise.resolve([]), clock: systemClock, env });
  sidecar.cell.onSwap((index) => toolServers.follow(index));
  const { app } = createTestServer(sidecar, { toolServers });
  await app.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => toolServers.close());
  const { port } = app.server.address() as AddressInfo;
  return { sidecar, url: (name: string) => new URL(`http://127.0.0.1:${port}/mcp/${name}`) };
}

async function connect(url: URL): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  const headers = { authorization: `Bearer ${keyText('key1')}`, 'x-tollgate-agent': 'tester' };
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
  onTestFinished(() => client.close());
  return client;
}

const echo = (client: Client, message: string) => client.callTool({ name: 'echo', arguments: { message } });

/** Returns the running programs that this process has started. */
const children = (): readonly number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const [, state, parent] = /^\d+ \(.*\) (\S) (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
        return (
          Number(parent) === process.pid && state !== 'Z' && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('server-everything')
        );
      } catch {
        return false;
      }
    });

test('a program of the file lists its tools and answers calls, and each session has its own', async () => {
  const { url } = await startProxy({ mcpServers: { box: { command: process.execPath, args: everythingArgs } } });
  const before = children().length;
  const [one, other] = await Promise.all([connect(url('box')), connect(url('box'))]);
  expect((await one.listTools()).tools.map(({ name }) => name)).toContain('echo');
  expect(children().length - before).toBe(2);
  expect(await Promise.all([echo(one, 'a'), echo(other, 'b')])).toMatchObject([
    { content: [{ type: 'text', text: expect.stringContaining('a') }] },
    { content: [{ type: 'text', text: expect.stringContaining('b') }] },
  ]);
});

test('a program that dies in the middle of a call is reported, and the next session has another; the others continue', async () => {
  const { url } = await startProxy({ mcpServers: { box: { command: process.execPath, args: everythingArgs } } });
  const before = children();
  const one = await connect(url('box'));
  const [pid] = children().filter((child) => !before.includes(child));
  const other = await connect(url('box'));
  const long = one.callTool({ name: 'trigger-long-running-operation', arguments: { duration: 60, steps: 1 } });
  const outcome = long.then(
    (result) => JSON.stringify(result),
    (error: unknown) => String(error),
  );
  await echo(one, 'it is at work');
  process.kill(pid ?? 0, 'SIGKILL');
  expect(await outcome).toMatch(/SIGKILL|tool server/);
  expect(await echo(other, 'still here')).toMatchObject({ content: [{ text: expect.stringContaining('still here') }] });
  const next = await connect(url('box'));
  expect(await echo(next, 'again')).toMatchObject({ content: [{ text: expect.stringContaining('again') }] });
});

test('a server of the control plane is available exactly as long as its snapshot has it', async () => {
  const target = { kind: 'command', program: process.execPath, args: everythingArgs, env: [] } as const;
  const rules = { allowPrivate: false, commands: [process.execPath] };
  const { sidecar, url } = await startProxy({}, {}, rules);
  await expect(connect(url('box'))).rejects.toThrow('there is no tool server with the name in the path');
  sidecar.take({ servers: [server({ name: 'box', target })] });
  const before = children();
  const client = await connect(url('box'));
  expect(await echo(client, 'hi')).toMatchObject({ content: [{ text: expect.stringContaining('hi') }] });
  sidecar.take({ servers: [] });
  await expect(echo(client, 'hi')).rejects.toThrow();
  await expect.poll(() => children().filter((pid) => !before.includes(pid)), { timeout: 10_000 }).toEqual([]);
});

test('a server that lacks a header here is 503 that names it, and others continue', async () => {
  const target = { kind: 'url', url: 'https://tools.example/mcp', headers: ['X-Key'] } as const;
  const { url } = await startProxy(
    { mcpServers: { box: { command: process.execPath, args: everythingArgs } } },
    { servers: [server({ name: 'crm', target })] },
  );
  await expect(connect(url('crm'))).rejects.toThrow(/X-Key.*TOLLGATE_GATEWAY_FILE/);
  await connect(url('box'));
});

test('a program that cannot be started is reported, without its path or its arguments', async () => {
  const { url } = await startProxy({ mcpServers: { box: { command: '/no/such/program', args: ['the-secret'] } } });
  const failed = connect(url('box')).then(
    () => 'connected',
    (error: unknown) => String(error),
  );
  expect(await failed).toContain('could not be started');
  expect(await failed).not.toMatch(/no\/such|the-secret/);
});
