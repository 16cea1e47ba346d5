// What a run gets from the registered tool servers: their tools as discovery found them, and their secrets.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { reseal } from '../../control-plane/tool-servers/operations/reseal.ts';
import { createOpenToolbox, type OpenToolbox } from '../../control-plane/tool-servers/operations/open-toolbox.ts';
import { createReach } from '../../control-plane/runs/mcp/reach.ts';
import { createSchemaProblem } from '../../control-plane/runs/tools/schema-problem.ts';
import type { Toolbox } from '../../control-plane/runs/tools/tool.ts';
import { createSealer } from '../../control-plane/tool-servers/store/sealed.ts';
import { listWorkspaceServers } from '../../control-plane/tool-servers/store/tool-servers.ts';
import { type FakeServer, startFakeServer, tool } from '../support/mcp-servers.ts';
import { createRest, type Rest } from './rest.ts';

const reach = createReach({ allowPrivate: true, commands: [process.execPath] }, {});
const secretKey = 'a secret key of more than 32 characters';
const sealer = createSealer([secretKey], randomBytes);
const schemaProblem = createSchemaProblem();
const context = { signal: new AbortController().signal, trace: {} };

let rest: Rest;
let fake: FakeServer;
let openToolbox: OpenToolbox;
let workspaceId: number;
beforeAll(async () => {
  rest = await createRest({ reach, sealer });
  fake = await startFakeServer();
  openToolbox = createOpenToolbox({ pool: rest.pool, reach, sealer, schemaProblem });
  const { rows } = await rest.pool.query("select id from workspace where slug = 'acme'");
  workspaceId = Number(rows[0]?.id);
});
afterAll(async () => {
  await fake.close();
  await rest.close();
});
beforeEach(async () => {
  fake.asked.length = 0;
  fake.pages = [[tool('read', { inputSchema: { type: 'object', properties: { z: {}, a: {} } } }), tool('write')]];
  fake.instead = ({ rpc, headers }, response) => {
    if (rpc.method !== 'tools/call') return false;
    const content = [{ type: 'text', text: headers.authorization === 'Bearer the-secret-of-acme' ? 'known' : 'unknown' }];
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id: rpc.id, result: { content } }));
    return true;
  };
  rest.clock.now = new Date(rest.clock.now.getTime() + 61_000);
  await rest.pool.query('delete from tool_server');
});

async function register(name: string): Promise<void> {
  const body = { name, url: fake.url, headers: { Authorization: 'Bearer the-secret-of-acme' } };
  expect(await rest.ask('POST', '/acme/admin/toolServers', { body })).toMatchObject({ status: 200 });
  fake.asked.length = 0;
}
/** The current servers, and as policy holds them then. */
const held = async (): Promise<Parameters<OpenToolbox>[2]> => {
  const servers = await listWorkspaceServers(rest.pool, workspaceId);
  return () => servers;
};
const opened = async (enabledTools: readonly string[]): Promise<Toolbox> => openToolbox(workspaceId, enabledTools, await held());
const namesOf = ({ tools }: Toolbox): readonly string[] => tools.map(({ name }) => name);

test.each<readonly [readonly string[], readonly string[]]>([
  [['files.*'], ['files.read', 'files.write']],
  [
    ['files.write', 'mail.read'],
    ['files.write', 'mail.read'],
  ],
  [['mail.none', 'absent.*'], []],
  [['file*', '*'], []],
  [[], []],
])('enabledTools %j are %j', async (enabledTools, names) => {
  await register('files');
  await register('mail');
  const toolbox = await opened(enabledTools);
  expect(namesOf(toolbox)).toEqual(names);
  expect(fake.asked).toEqual([]);
});

test('a schema is unchanged', async () => {
  await register('files');
  const toolbox = await opened(['files.read']);
  expect(JSON.stringify(toolbox.tools[0]?.inputSchema)).toBe('{"type":"object","properties":{"z":{},"a":{}}}');
});

test('the output schema that a server declared at registration is enforced', async () => {
  fake.pages = [[tool('read', { outputSchema: { type: 'object', required: ['size'] } }), tool('write')]];
  await register('files');
  const toolbox = await opened(['files.*']);
  expect(await toolbox.call('files.read', {}, context)).toEqual({
    output: { problem: 'the answer does not fit the outputSchema of its tool: it has no structuredContent', answered: 'known' },
    isError: true,
  });
  expect(await toolbox.call('files.write', {}, context)).toEqual({ output: 'known', isError: false });
});

test('a call is sent with the secrets of its server', async () => {
  await register('files');
  const toolbox = await opened(['files.*']);
  expect(await toolbox.call('files.read', {}, context)).toEqual({ output: 'known', isError: false });
  await toolbox.close();
});

test('where they cannot be opened the server is not called, and the model receives the reason', async () => {
  await register('files');
  const other = createOpenToolbox({
    pool: rest.pool,
    reach,
    sealer: createSealer(['another key of more than 32 characters'], randomBytes),
    schemaProblem,
  });
  const toolbox = await other(workspaceId, ['files.*'], await held());
  expect(await toolbox.call('files.read', {}, context)).toEqual({ output: expect.stringContaining('cannot be decrypted'), isError: true });
  expect(fake.asked).toEqual([]);
});

test('a server that policy does not hold any more, or holds with another definition, is not called', async () => {
  await register('files');
  let servers = await listWorkspaceServers(rest.pool, workspaceId);
  const toolbox = await openToolbox(workspaceId, ['files.*'], () => servers);
  expect(toolbox.gone('files.read')).toBe(null);
  await rest.pool.query('delete from tool_server');
  await register('files');
  for (const now of [[], await listWorkspaceServers(rest.pool, workspaceId)]) {
    servers = now;
    const words = 'the tool server was removed, or registered again, after the run began';
    expect(toolbox.gone('files.read')).toBe(words);
    expect(await toolbox.call('files.read', {}, context)).toEqual({ output: words, isError: true });
  }
  expect(fake.asked).toEqual([]);
});

test('secrets sealed again under another key are the same server to a run in progress, and a later run opens them too', async () => {
  await register('files');
  const both = createSealer(['the key that comes after, of 32 characters', secretKey], randomBytes);
  const rotating = createOpenToolbox({ pool: rest.pool, reach, sealer: both, schemaProblem });
  const servers = await held();
  const underWay = await rotating(workspaceId, ['files.*'], servers);
  await reseal({ pool: rest.pool, sealer: both });
  const later = await rotating(workspaceId, ['files.*'], servers);
  for (const toolbox of [underWay, later]) {
    expect(toolbox.gone('files.read')).toBe(null);
    expect(await toolbox.call('files.read', {}, context)).toEqual({ output: 'known', isError: false });
    await toolbox.close();
  }
  const former = await openToolbox(workspaceId, ['files.*'], await held());
  expect(await former.call('files.read', {}, context)).toEqual({ output: expect.stringContaining('cannot be decrypted'), isError: true });
});

test('another workspace has no access to it', async () => {
  await register('files');
  const { rows } = await rest.pool.query("select id from workspace where slug = 'other'");
  expect(namesOf(await openToolbox(Number(rows[0]?.id), ['files.*'], await held()))).toEqual([]);
});
