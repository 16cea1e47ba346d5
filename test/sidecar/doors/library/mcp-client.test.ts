// `guardTools` of the official MCP client, in both of its packages, each against a real server over memory.
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport as OldTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { CallToolRequestSchema, CallToolResultSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect, expectTypeOf, onTestFinished, test } from 'vitest';
import { denialKey } from '../../../../sidecar/doors/denial-body.ts';
import { type Run, startRun } from '../../../../sidecar/doors/library/library.ts';
import { createTestSidecar, type TestSidecar } from '../../../support/governing.ts';
import { document, ruleFor } from '../../../support/snapshots.ts';

const run = (sidecar: TestSidecar): Run => startRun(sidecar, { agent: 'assistant', tier: 'interactive' });
const mail = 'bob@acme-mail.eu';

/** A server that records what reaches it, with the tools `send`, `read` and `break`. */
function createServer(): { readonly server: Server; readonly reached: unknown[] } {
  const reached: unknown[] = [];
  const server = new Server({ name: 'mail', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: ['send', 'read', 'break'].map((name) => ({ name, inputSchema: { type: 'object' as const } })),
  }));
  server.setRequestHandler(CallToolRequestSchema, ({ params: { name, arguments: given } }) => {
    reached.push([name, given]);
    if (name === 'break') return { isError: true, content: [{ type: 'text', text: `no box of ${mail}` }] };
    return { content: [{ type: 'text', text: `to ${String(given?.['to'])}` }], structuredContent: { to: given?.['to'] } };
  });
  return { server, reached };
}

async function connectOld() {
  const { server, reached } = createServer();
  const [near, far] = OldTransport.createLinkedPair();
  await server.connect(far);
  const client = new OldClient({ name: 'tests', version: '1.0.0' });
  await client.connect(near);
  onTestFinished(() => client.close());
  return { client, reached };
}

async function connectNew() {
  const { server, reached } = createServer();
  const [near, far] = InMemoryTransport.createLinkedPair();
  await server.connect(far);
  const client = new Client({ name: 'tests', version: '1.0.0' });
  await client.connect(near);
  onTestFinished(() => client.close());
  return { client, reached };
}

const packages = [
  ['@modelcontextprotocol/client', connectNew],
  ['@modelcontextprotocol/sdk', connectOld],
] as const;

const denying = { documents: [ruleFor('mail.send', { permission: 'deny' })], agents: [] };
const redacting = { documents: [document({ defaults: [['interactive', { transform: 'redact' }]] })], agents: [] };

test.each(packages)('%s: a permitted call reaches the server, and is recorded under the name of the server', async (_, connect) => {
  const sidecar = await createTestSidecar({ world: { agents: [] } });
  const { client, reached } = await connect();
  const guarded = run(sidecar).guardTools(client, { server: 'mail' });
  expect(await guarded.callTool({ name: 'send', arguments: { to: 'bob' } })).toEqual({
    content: [{ type: 'text', text: 'to bob' }],
    structuredContent: { to: 'bob' },
  });
  await guarded.callTool({ name: 'read' });
  expect(reached).toEqual([
    ['send', { to: 'bob' }],
    ['read', undefined],
  ]);
  expect((await sidecar.entries()).map(({ hookEvent, tool }) => `${hookEvent} ${tool}`)).toEqual([
    'PreToolUse mail.send',
    'PostToolUse mail.send',
    'PreToolUse mail.read',
    'PostToolUse mail.read',
  ]);
});

test.each(packages)('%s: a denied call reaches no server and returns a result, for the model and for programs', async (_, connect) => {
  const sidecar = await createTestSidecar({ world: denying });
  const { client, reached } = await connect();
  expect(
    await run(sidecar)
      .guardTools(client, { server: 'mail' })
      .callTool({ name: 'send', arguments: { to: 'bob' } }),
  ).toEqual({
    isError: true,
    content: [{ type: 'text', text: expect.stringMatching(/^The call of "mail\.send" was not permitted: policy_denied/) }],
    _meta: {
      [denialKey]: { code: 'policy_denied', kind: 'terminal', reason: expect.stringMatching(/^policy_denied: /), requestId: 'id-2' },
    },
  });
  expect(reached).toEqual([]);
});

test.each(packages)('%s: the list shows what policy permits, even when limits are used up', async (_, connect) => {
  const sidecar = await createTestSidecar({ world: denying });
  const { client } = await connect();
  const guarded = run(sidecar).guardTools(client, { server: 'mail' });
  const names = async (): Promise<readonly string[]> => (await guarded.listTools()).tools.map(({ name }) => name);
  expect(await names()).toEqual(['read', 'break']);
  sidecar.take({ documents: [ruleFor('mail.send', { rateLimit: 1 })], agents: [] });
  for (let call = 0; call < 2; call++) await guarded.callTool({ name: 'send', arguments: {} });
  expect((await sidecar.entries()).at(-1)).toMatchObject({ code: 'rate_limited' });
  expect(await names()).toEqual(['send', 'read', 'break']);
  sidecar.take({ documents: [ruleFor('mail.send', { rateLimit: 0 })], agents: [] });
  expect(await names()).toEqual(['read', 'break']);
});

test.each(packages)('%s: arguments, results, structured content and reported errors are redacted', async (_, connect) => {
  const sidecar = await createTestSidecar({ world: redacting });
  const { client, reached } = await connect();
  const guarded = run(sidecar).guardTools(client, { server: 'mail' });
  expect(await guarded.callTool({ name: 'send', arguments: { to: mail } })).toEqual({
    content: [{ type: 'text', text: 'to [redacted:email#1]' }],
    structuredContent: { to: '[redacted:email#1]' },
  });
  expect(await guarded.callTool({ name: 'break', arguments: {} })).toEqual({
    isError: true,
    content: [{ type: 'text', text: 'no box of [redacted:email#1]' }],
  });
  expect(reached[0]).toEqual(['send', { to: '[redacted:email#1]' }]);
  expect((await sidecar.entries()).at(-1)).toMatchObject({ outcome: { isError: true, action: 'redact' } });
});

test.each(packages)('%s: no other method of the same client calls a tool or lists tools', async (_, connect) => {
  const sidecar = await createTestSidecar({ world: denying });
  const { client, reached } = await connect();
  const guarded: object = run(sidecar).guardTools<typeof client>(client, { server: 'mail' });
  const request = Reflect.get(guarded, 'request') as (...given: unknown[]) => Promise<unknown>;
  for (const method of ['tools/call', 'tools/list'])
    expect(() => request({ method, params: { name: 'send' } }, CallToolResultSchema)).toThrow('of a guarded MCP client is refused');
  expect(reached).toEqual([]);
});

test('tasks, which one of the packages has in addition to calls, are blocked too', async () => {
  const guarded = run(await createTestSidecar({ world: { agents: [] } })).guardTools((await connectOld()).client, { server: 'mail' });
  expect(() => guarded.experimental.tasks).toThrow('experimental of a guarded MCP client is refused');
});

test('the client is otherwise unchanged: an instance of its class, with its own methods and type', async () => {
  const own = run(await createTestSidecar({ world: { agents: [] } }));
  const [old, current] = [(await connectOld()).client, (await connectNew()).client];
  const guardedOld = own.guardTools(old, { server: 'mail' });
  const guarded = own.guardTools(current, { server: 'mail' });
  expectTypeOf(guardedOld).toEqualTypeOf(old);
  expectTypeOf(guarded).toEqualTypeOf(current);
  expect(guarded).toBeInstanceOf(Client);
  expect(guardedOld.getServerVersion()).toMatchObject({ name: 'mail' });
  expect(await guarded.ping()).toEqual({});
  // @ts-expect-error the name of the server is part of what policy decides by
  expect(() => own.guardTools(current)).toThrow('"guardTools" needs the option "server" for an MCP client');
});
