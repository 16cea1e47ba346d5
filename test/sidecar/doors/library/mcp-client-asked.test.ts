// A guarded MCP client, in both of its packages, whose calls policy asks a person for. The server notes each call.
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport as OldTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { CallToolRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startRun } from '../../../../sidecar/doors/library/library.ts';
import { asking, createAsked, settled, usesOf } from '../../../support/asked.ts';
import { createTestSidecar } from '../../../support/governing.ts';

interface Options {
  readonly signal?: AbortSignal;
  readonly timeout?: number;
  readonly onprogress?: (told: { progress: number; message?: string | undefined }) => void;
}
type Params = { name: string; arguments: Record<string, unknown>; _meta?: Record<string, unknown> };

function createServer() {
  const reached: unknown[] = [];
  const server = new Server({ name: 'mail', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler(CallToolRequestSchema, ({ params: { arguments: given, _meta: meta } }) => {
    reached.push([given, meta?.['note']]);
    return { content: [{ type: 'text', text: 'sent' }] };
  });
  return { server, reached };
}

async function startGuarded() {
  const asked = createAsked();
  const sidecar = await createTestSidecar({ world: asking('mail.send'), ...asked });
  return { ...asked, sidecar, run: startRun(sidecar, { agent: 'someone', tier: 'interactive', sessionId: 's1' }) };
}

async function connectOld() {
  const { server, reached } = createServer();
  const [near, far] = OldTransport.createLinkedPair();
  await server.connect(far);
  const client = new OldClient({ name: 'tests', version: '1.0.0' });
  await client.connect(near);
  onTestFinished(() => client.close());
  const guarded = await startGuarded();
  const safe = guarded.run.guardTools(client, { server: 'mail' });
  return { ...guarded, reached, send: (params: Params, options?: Options): Promise<unknown> => safe.callTool(params, undefined, options) };
}

async function connectNew() {
  const { server, reached } = createServer();
  const [near, far] = InMemoryTransport.createLinkedPair();
  await server.connect(far);
  const client = new Client({ name: 'tests', version: '1.0.0' });
  await client.connect(near);
  onTestFinished(() => client.close());
  const guarded = await startGuarded();
  const safe = guarded.run.guardTools(client, { server: 'mail' });
  return { ...guarded, reached, send: (params: Params, options?: Options): Promise<unknown> => safe.callTool(params, options) };
}

const packages = [
  ['@modelcontextprotocol/client', connectNew],
  ['@modelcontextprotocol/sdk', connectOld],
] as const;

const toBob = (): Params => ({ name: 'send', arguments: { to: 'bob' } });

test.each(packages)('%s: a call waits with progress, and reaches the server once, as it was asked for', async (_, connect) => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const { ledger, reached, send } = await connect();
  const told: unknown[] = [];
  const params = { ...toBob(), _meta: { note: 'hello' } };
  const sending = send(params, { onprogress: ({ progress, message }) => void told.push([progress, message]) });
  params.arguments['to'] = 'eve';
  params._meta.note = 'changed';
  await settled();
  vi.advanceTimersByTime(15_000);
  expect(told).toEqual([0, 0.001].map((progress) => [progress, expect.stringContaining('tollgate approvals show ap-1')]));
  expect(JSON.parse(ledger.rows[0]?.ask.shownInput ?? '')).toEqual({
    input: { to: 'bob' },
    alsoForwarded: { params: { _meta: { note: 'hello' } } },
  });
  expect(reached).toEqual([]);
  ledger.approve('ap-1');
  expect(await sending).toMatchObject({ content: [{ type: 'text', text: 'sent' }] });
  expect(reached).toEqual([[{ to: 'bob' }, 'hello']]);
  expect(vi.getTimerCount()).toBe(0);
});

test.each(packages)('%s: after the time that the options let it take, the result says what is waited for', async (_, connect) => {
  const { clock, ledger, reached, send } = await connect();
  const sending = send(toBob(), { timeout: 10_000 });
  await settled();
  clock.advance(10_000);
  expect(await sending).toMatchObject({
    isError: true,
    content: [{ type: 'text', text: expect.stringMatching(/approval_pending.*tollgate approvals show ap-1$/) }],
    _meta: { 'tollgate/denial': { code: 'approval_pending', approvalId: 'ap-1' } },
  });
  expect(reached).toEqual([]);
  ledger.approve('ap-1');
  await send(toBob());
  expect(reached).toHaveLength(1);
});

test.each(packages)('%s: an aborted call makes no call and uses no approval', async (_, connect) => {
  const { ledger, reached, send } = await connect();
  const stop = new AbortController();
  const sending = send(toBob(), { signal: stop.signal });
  await settled();
  stop.abort();
  expect(await sending).toMatchObject({ isError: true });
  ledger.approve('ap-1');
  await settled();
  expect([reached, usesOf(ledger, 'ap-1')]).toEqual([[], 0]);
});
