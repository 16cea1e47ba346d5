// Definitions of tools, admitted and pinned: over REST, in snapshots, and in runs.
import { randomBytes } from 'node:crypto';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { toolDefinitionDigest } from '@tollgate/proto/contract';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createOpenToolbox } from '../../control-plane/tool-servers/operations/open-toolbox.ts';
import { createSchemaProblem } from '../../control-plane/runs/tools/schema-problem.ts';
import { createReach } from '../../control-plane/runs/mcp/reach.ts';
import { createSealer } from '../../control-plane/tool-servers/store/sealed.ts';
import { systemClock } from '../../sidecar/base/clock.ts';
import { readGatewayFile } from '../../sidecar/upstream/gateway-file.ts';
import { createUpstreams } from '../../sidecar/upstream/tool-servers.ts';
import { createTestServer } from '../support/governing.ts';
import { type FakeServer, startFakeServer, tool } from '../support/mcp-servers.ts';
import { followPlane, type Plane, startPlane } from '../support/plane.ts';

const list = '/acme/admin/toolServers';
const one = `${list}/files`;
const reach = createReach({ allowPrivate: true, commands: [process.execPath] }, {});
const sealer = createSealer(['a secret key of more than 32 characters'], randomBytes);

let plane: Plane;
let fake: FakeServer;
let workspaceId: number;
beforeAll(async () => {
  plane = await startPlane({ reach, sealer });
  fake = await startFakeServer();
  const { rows } = await plane.pool.query("select id from workspace where slug = 'acme'");
  workspaceId = Number(rows[0]?.id);
});
afterAll(async () => {
  await fake.close();
  await plane.close();
});
beforeEach(async () => {
  // The next minute, in which no discovery was made yet.
  plane.clock.now = new Date(plane.clock.now.getTime() + 61_000);
  fake.pages = [[tool('read'), tool('write')]];
  fake.modern = false;
  fake.instead = () => false;
  await plane.pool.query('delete from tool_server');
  await plane.writePolicy({ toolDefinitions: null });
});

const register = async (): Promise<void> => {
  const body = { name: 'files', url: fake.url, headers: { Authorization: 'Bearer the-secret-of-acme' } };
  expect(await plane.ask('POST', list, { body })).toMatchObject({ status: 200 });
};
const pin = (): Promise<number> => plane.writePolicy({ toolDefinitions: 'pinned' });
const refresh = () => plane.ask('POST', `${one}/refresh`);
const admit = (body: object, headers: Record<string, string> = {}) => plane.ask('POST', `${one}/admit`, { body, headers });

interface Shown {
  readonly name: string;
  readonly digest: string;
  readonly admitted: boolean;
}
const toolsOf = ({ body }: { readonly body: unknown }): readonly Shown[] => (Object(body) as { readonly tools: readonly Shown[] }).tools;
const admittedNow = async (): Promise<Readonly<Record<string, boolean>>> => {
  const { body } = await plane.ask('GET', one);
  return Object.fromEntries(toolsOf({ body: Object(body).server }).map(({ name, admitted }) => [name, admitted]));
};
const runTools = async (): Promise<readonly string[]> => {
  const toolbox = await createOpenToolbox({ pool: plane.pool, reach, sealer, schemaProblem: createSchemaProblem() })(
    workspaceId,
    ['files.*'],
    () => [],
  );
  return toolbox.tools.map(({ name }) => name);
};

describe('a digest', () => {
  test('covers everything that the server says of a tool, in either revision, except execution', async () => {
    const said = tool('read', {
      title: 'Read',
      annotations: { readOnlyHint: true, novel: 1 },
      outputSchema: { type: 'object' },
      novel: ['field', { of: 'ours' }],
      _meta: { a: { b: 1 } },
    });
    fake.pages = [[{ ...said, execution: { taskSupport: 'optional' } }]];
    await register();
    const wanted = toolDefinitionDigest({ ...said });
    expect(toolsOf(Object({ body: Object((await plane.ask('GET', one)).body).server }))).toMatchObject([
      { digest: wanted, admitted: true },
    ]);
    fake.modern = true;
    fake.pages = [[said]];
    expect(toolsOf(await refresh())).toMatchObject([{ digest: wanted }]);
  });

  test.each<readonly [string, object]>([
    ['description', { description: 'does read, and tells everybody' }],
    ['schema', { inputSchema: { type: 'object', properties: { to: { type: 'string' } } } }],
    ['title', { title: 'x' }],
    ['annotations', { annotations: { readOnlyHint: true } }],
    ['unknown field', { novel: 'x' }],
    ['NUL that a database cannot hold', { description: 'does read\0' }],
  ])('changes with another %s', async (_what, change) => {
    await register();
    await pin();
    fake.pages = [[tool('read', change), tool('write')]];
    expect(toolsOf(await refresh()).map(({ admitted }) => admitted)).toEqual([false, true]);
  });

  test('stays the same when keys and tools are reordered', async () => {
    await register();
    await pin();
    fake.pages = [[tool('write')], [Object.fromEntries(Object.entries(tool('read')).toReversed())]];
    expect(toolsOf(await refresh()).map(({ admitted }) => admitted)).toEqual([true, true]);
  });

  test('needs a definition within our bounds', async () => {
    let deep: object = { type: 'object' };
    for (let level = 0; level < 70; level++) deep = { type: 'object', not: deep };
    fake.pages = [[tool('read', { inputSchema: deep })]];
    expect(await plane.ask('POST', list, { body: { name: 'files', url: fake.url } })).toMatchObject({
      status: 502,
      body: { error: expect.stringContaining('nested deeper than 64') },
    });
  });
});

describe('in a workspace that pins', () => {
  test('registering admits what is found, and a refresh admits nothing that changed or was added', async () => {
    await pin();
    await register();
    fake.pages = [[tool('read', { description: 'else' }), tool('write'), tool('new')]];
    await refresh();
    expect(await admittedNow()).toEqual({ 'files.read': false, 'files.write': true, 'files.new': false });
    expect(await runTools()).toEqual(['files.write']);
  });

  test('admits the named tools, or all', async () => {
    await pin();
    await register();
    fake.pages = [[tool('read', { description: 'else' }), tool('write'), tool('new')]];
    await refresh();
    const before = await plane.revision();
    expect(await admit({ tools: ['files.new'] })).toMatchObject({ status: 200, body: { revision: before + 1, name: 'files' } });
    expect(await admittedNow()).toEqual({ 'files.read': false, 'files.write': true, 'files.new': true });
    expect((await admit({})).status).toBe(200);
    expect(await admittedNow()).toEqual({ 'files.read': true, 'files.write': true, 'files.new': true });
    expect(await runTools()).toEqual(['files.read', 'files.write', 'files.new']);
    const { rows } = await plane.pool.query(
      "select detail from admin_event where target = 'tool-server/files' order by revision desc limit 1",
    );
    expect(rows).toEqual([{ detail: { change: 'admit', tools: 3 } }]);
  });

  test('a definition that was changed back is the admitted one', async () => {
    await pin();
    await register();
    fake.pages = [[tool('read', { description: 'else' })]];
    await refresh();
    fake.pages = [[tool('read'), tool('write')]];
    await refresh();
    expect(await admittedNow()).toEqual({ 'files.read': true, 'files.write': true });
  });

  test('exactly what was read is admitted: with If-Match, a refresh in between is 412', async () => {
    await pin();
    await register();
    const { headers } = await plane.ask('GET', one);
    fake.pages = [[tool('read', { description: 'else' })]];
    await refresh();
    expect((await admit({}, { 'If-Match': String(headers['etag']) })).status).toBe(412);
    expect(await admittedNow()).toEqual({ 'files.read': false });
  });

  test.each<readonly [object, string]>([
    [{ tools: ['files.none'] }, 'tools[0] must be a tool of the server'],
    [{ tools: ['read'] }, 'tools[0] must be a tool of the server'],
    [{ tools: 'files.read' }, 'tools must be an array'],
    [{ tool: 'files.read' }, 'tool is not a field here; the fields are tools'],
  ])('%j is 400, and admits nothing', async (body, error) => {
    await pin();
    await register();
    fake.pages = [[tool('read', { description: 'else' })]];
    await refresh();
    expect(await admit(body)).toMatchObject({ status: 400, body: { error } });
    expect(await admittedNow()).toEqual({ 'files.read': false });
  });

  test('a server that was discovered by a release without digests is refreshed before it is admitted', async () => {
    await register();
    await plane.pool.query(
      `update tool_server set admitted = '[]', tools = (select json_agg((tool::jsonb - 'digest')::json) from json_array_elements(tools) tool)`,
    );
    await pin();
    expect(await runTools()).toEqual([]);
    expect(await admit({})).toMatchObject({ status: 400, body: { error: expect.stringContaining('refresh the tool server first') } });
    await refresh();
    expect((await admit({})).status).toBe(200);
    expect(await runTools()).toEqual(['files.read', 'files.write']);
  });

  test('admits nothing for other callers, and nothing of a missing server', async () => {
    await register();
    expect((await plane.ask('POST', `${list}/none/admit`, { body: {} })).status).toBe(404);
    const member = await plane.issueKey(['policies.read']);
    expect((await plane.ask('POST', `${one}/admit`, { body: {}, key: member.key })).status).toBe(403);
  });
});

test('without pins a refresh admits what it finds, so that pinning begins with the last state', async () => {
  await register();
  fake.pages = [[tool('read', { description: 'else' })]];
  await refresh();
  await pin();
  expect(await admittedNow()).toEqual({ 'files.read': true });
});

test('any other value is refused', async () => {
  expect(await plane.ask('PUT', '/acme/admin/workspacePolicy', { body: { toolDefinitions: 'strict' } })).toMatchObject({
    status: 400,
    body: { error: 'toolDefinitions must be "any" or "pinned"' },
  });
});

describe('in snapshots', () => {
  test('a process receives the addresses of servers and what is admitted, live, and never a secret; a library receives neither', async () => {
    const { key } = await plane.issueKey(['sidecar.sync', 'govern', 'govern.impersonate']);
    const [process_, library] = await Promise.all([followPlane(plane, { key }), followPlane(plane, { key, form: 'library' })]);
    const now = async () => {
      const revision = await plane.revision();
      await Promise.all([process_.reaches(revision), library.reaches(revision)]);
      const { current } = process_.sidecar.cell;
      return { server: current?.servers.get('files'), settings: current?.settings.toolDefinitions };
    };
    await register();
    const target = { kind: 'url', url: fake.url, headers: ['Authorization'] };
    expect(await now()).toEqual({ server: { name: 'files', tools: [], target, admitted: [] }, settings: 'any' });
    await pin();
    const digests = [
      ['read', toolDefinitionDigest({ ...tool('read') })],
      ['write', toolDefinitionDigest({ ...tool('write') })],
    ];
    expect(await now()).toEqual({ server: { name: 'files', tools: [], target, admitted: digests }, settings: 'pinned' });
    fake.pages = [[tool('read', { description: 'else' })]];
    await refresh();
    expect((await now()).server?.admitted).toEqual(digests);
    await admit({});
    expect((await now()).server?.admitted).toEqual([['read', toolDefinitionDigest({ ...tool('read', { description: 'else' }) })]]);
    expect(library.sidecar.cell.current?.servers.get('files')).toEqual({ name: 'files', tools: [], target: null, admitted: [] });
    await plane.ask('DELETE', one);
    expect((await now()).server).toBeUndefined();
  });
});

test('through the proxy: a changed tool is denied with the reason, and called once it is admitted', async () => {
  const { key } = await plane.issueKey(['sidecar.sync', 'govern']);
  const { sidecar, reaches } = await followPlane(plane, { key });
  const read = readGatewayFile(Buffer.from('{"mcpServers": {"files": {"headers": {"authorization": "Bearer the-secret-of-acme"}}}}'), {});
  if ('problems' in read) throw new Error(read.problems.join());
  const rules = { allowPrivate: true, commands: [] };
  const toolServers = createUpstreams({ file: read.file, rules, resolve: reach.resolve, clock: systemClock, env: {} });
  onTestFinished(() => toolServers.close());
  const { app } = createTestServer(sidecar, { toolServers });
  await app.listen({ host: '127.0.0.1', port: 0 });
  fake.instead = ({ rpc }, response) => {
    if (rpc.method !== 'tools/call') return false;
    const result = { content: [{ type: 'text', text: 'read' }] };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id: rpc.id, result }));
    return true;
  };
  const call = async (): Promise<unknown> => {
    await reaches(await plane.revision());
    const client = new Client({ name: 'test', version: '1' });
    const requestInit = { headers: { authorization: `Bearer ${key}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${app.listeningOrigin}/mcp/files`), { requestInit }));
    try {
      // A definition that a model reads passes through the proxy, which knows it from then on.
      await client.request({ method: 'tools/list', params: {} });
      return await client.callTool({ name: 'read', arguments: {} });
    } finally {
      await client.close();
    }
  };
  const calls = (): number => fake.asked.filter(({ rpc }) => rpc.method === 'tools/call').length;
  await pin();
  await register();
  fake.asked.length = 0;
  expect(await call()).toMatchObject({ content: [{ text: 'read' }] });
  fake.pages = [[tool('read', { description: 'does read, and sends it to another person' })]];
  expect(await call()).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('tool_definition_changed') }] });
  expect(calls()).toBe(1);
  await refresh();
  expect(await call()).toMatchObject({ isError: true });
  await admit({ tools: ['files.read'] });
  expect(await call()).toMatchObject({ content: [{ text: 'read' }] });
  expect(calls()).toBe(2);
});
