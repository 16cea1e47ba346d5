// A run whose tool server is removed, registered again or refreshed while it continues. Writes reach the run as those
// of any other control plane do: through the database, by the held policy.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createReach } from '../../control-plane/runs/mcp/reach.ts';
import type { ModelMessage, Models } from '../../control-plane/runs/model.ts';
import { createSealer } from '../../control-plane/tool-servers/store/sealed.ts';
import { type FakeServer, type McpServerRequest, startFakeServer, tool } from '../support/mcp-servers.ts';
import { createScriptedModel } from '../support/scripted-model.ts';
import { createRunsRest, type RunsRest } from './runs.ts';

const servers = '/acme/admin/toolServers';
const words = 'call_malformed: the tool server was removed, or registered again, after the run began';

/** Calls until the awaited answer arrives. */
let isEnough: (last: ModelMessage | undefined, rounds: number) => boolean = () => true;
const scripted = createScriptedModel(({ messages }) =>
  isEnough(messages.at(-1), messages.filter(({ role }) => role === 'tool').length)
    ? { text: 'done' }
    : { calls: [{ alias: 'files__read', arguments: '{}' }] },
);
const isRefusal = (last: ModelMessage | undefined): boolean => last?.role === 'tool' && last.isError;

let server: FakeServer;
let other: FakeServer;
let rest: RunsRest;
let agentId: string;
/** Runs while the first call of the run is at its server. */
let meanwhile: () => Promise<unknown> = async () => undefined;

beforeAll(async () => {
  [server, other] = [await startFakeServer(), await startFakeServer()];
  const models: Models = { ...scripted };
  const sealer = createSealer(['a secret key of more than 32 characters'], randomBytes);
  rest = await createRunsRest({ models, sealer, reach: createReach({ allowPrivate: true, commands: [] }, {}) });
  agentId = await rest.createAgent({ name: 'caller', enabledTools: ['files.*'] });
  await rest.ask('PATCH', `/api/v1/agents/${agentId}`, { body: { maxToolRounds: 200, maxToolCalls: 1_000 } });
});
afterAll(async () => {
  await rest.close();
  await server.close();
  await other.close();
});
beforeEach(async () => {
  isEnough = isRefusal;
  for (const one of [server, other]) {
    one.pages = [[tool('read')]];
    one.asked.length = 0;
    one.instead = (asked, response) => {
      if (asked.rpc.method !== 'tools/call') return false;
      const result = { content: [{ type: 'text', text: 'read' }] };
      const answer = (): unknown =>
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id: asked.rpc.id, result }));
      void (callsOf(one).length === 1 && one === server ? meanwhile() : Promise.resolve()).then(answer);
      return true;
    };
  }
  await rest.pool.query('delete from tool_server');
  await register(server, 'first');
});

const callsOf = (one: FakeServer): readonly McpServerRequest[] => one.asked.filter(({ rpc }) => rpc.method === 'tools/call');

async function register(one: FakeServer, secret: string): Promise<void> {
  const tools = { read: { requiredScopes: [] } };
  const body = { name: 'files', url: one.url, headers: { Authorization: `Bearer the-${secret}-secret` }, tools };
  expect(await rest.ask('POST', servers, { body })).toMatchObject({ status: 200 });
}
const remove = async (): Promise<void> => expect(await rest.ask('DELETE', `${servers}/files`)).toMatchObject({ status: 200 });

async function run(): Promise<{ readonly stopReason: unknown; readonly id: string }> {
  const { status, body } = await rest.run(agentId, { input: 'x' });
  expect(status).toBe(200);
  return body as { readonly stopReason: unknown; readonly id: string };
}

/** Of the run's last call. */
async function lastEntry(session: string): Promise<unknown> {
  for (;;) {
    const { body } = await rest.ask('GET', `/acme/admin/audit?session=${session}&decision=deny`);
    const { entries } = body as { readonly entries: readonly object[] };
    if (entries.length > 0) return entries[0];
    await new Promise((go) => setImmediate(go));
  }
}

test('a removed server is not called any more: the model receives the reason, it is recorded, and the run continues', async () => {
  meanwhile = remove;
  const { stopReason, id } = await run();
  expect(stopReason).toBe('goal_complete');
  expect(await lastEntry(id)).toMatchObject({ tool: 'files.read', decision: 'deny', decisionReason: words });
});

test.each([
  ['elsewhere', () => register(other, 'second')],
  ['with another secret', () => register(server, 'second')],
])(
  'a server that is registered again %s is not reached by a run that opened the former one, and is reached by the next run',
  async (_, again) => {
    meanwhile = async () => {
      await remove();
      await again();
    };
    expect((await run()).stopReason).toBe('goal_complete');
    expect(callsOf(other)).toEqual([]);
    expect(callsOf(server).map(({ headers }) => headers.authorization)).not.toContain('Bearer the-second-secret');

    for (const one of [server, other]) one.asked.length = 0;
    meanwhile = async () => undefined;
    isEnough = (_last, rounds) => rounds > 0;
    await run();
    const reached = [...callsOf(server), ...callsOf(other)];
    expect(reached.map(({ headers }) => headers.authorization)).toEqual(['Bearer the-second-secret']);
  },
);

test('a server whose tools are refreshed is the same server', async () => {
  meanwhile = async () => expect(await rest.ask('POST', `${servers}/files/refresh`)).toMatchObject({ status: 200 });
  isEnough = (last, rounds) => isRefusal(last) || rounds === 50;
  expect((await run()).stopReason).toBe('goal_complete');
  expect(callsOf(server)).toHaveLength(50);
});
