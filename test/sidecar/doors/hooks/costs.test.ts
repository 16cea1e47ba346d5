// `POST /govern/cost`: what the runs of clients without a library may spend.
import { bounds } from '@tollgate/proto/contract';
import { expect, test } from 'vitest';
import { createTestServer, createTestSidecar } from '../../../support/governing.ts';
import { agent, key, keyText, member, settings } from '../../../support/snapshots.ts';

type Cost = Readonly<Record<string, unknown>>;

async function start(
  maxBudgetCents: number,
  more: Parameters<typeof createTestSidecar>[0] = {},
  server: Parameters<typeof createTestServer>[1] = {},
) {
  const agents = [
    agent({ maxBudgetCents, canDelegate: true, maxDurationMs: 86_400_000 }),
    agent({ id: 'agent2', name: 'helper', maxBudgetCents: 50, delegatable: true }),
  ];
  const sidecar = await createTestSidecar({ world: { agents, ...more.world } });
  const { app } = createTestServer(sidecar, server);
  const post = async (path: string, payload: object | string, headers: Readonly<Record<string, string>> = {}) => {
    const answer = await app.inject({
      method: 'POST',
      url: path,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${keyText('key1')}`, ...headers },
      payload,
    });
    return { status: answer.statusCode, body: answer.json<Record<string, unknown>>() };
  };
  const ask = (fields: object) =>
    post('/govern/cost', { action: 'reserve', cost_id: 'c1', cents: 10, session_id: 's1', agent_name: 'bot', ...fields });
  const reserve = async (fields: Cost = {}) => (await ask(fields)).body;
  const settle = async (fields: Cost = {}) => (await ask({ action: 'settle', ...fields })).body;
  const call = async (fields: object = {}) =>
    (await post('/govern/tool-use', { tool_name: 'mail.send', tool_input: {}, session_id: 's1', agent_name: 'bot', ...fields })).body;
  return { sidecar, post, ask, reserve, settle, call };
}

test('a cost that fits is reserved, its unspent part can be reserved again, and a spent budget ends the run', async () => {
  const { reserve, settle, call } = await start(100);
  expect(await reserve({ cents: 60 })).toEqual({ decision: 'allow', reason: 'allowed: 60 cents are reserved', cents: 60 });
  expect(await reserve({ cost_id: 'c2', cents: 60 })).toEqual({
    decision: 'deny',
    reason: 'cap_budget: 60 cents do not fit: 40 of 100 are left (maxBudgetCents), until the reserved money is settled',
    kind: 'retry',
  });
  expect(await settle({ cents: 10 })).toEqual({ decision: 'allow', reason: 'allowed: 10 cents are counted', cents: 10 });
  expect(await reserve({ cost_id: 'c2', cents: 90 })).toMatchObject({ decision: 'allow', cents: 90 });
  expect(await call()).toMatchObject({ decision: 'allow' });
  await settle({ cost_id: 'c2', cents: 90 });
  expect(await reserve({ cost_id: 'c3', cents: 1 })).toMatchObject({ decision: 'deny', kind: 'terminal', stopped: 'max_budget' });
  expect(await call()).toMatchObject({ decision: 'deny', reason: expect.stringMatching(/^cap_budget: /) });
});

test('a request that is sent again counts once, and the same id with another amount is refused', async () => {
  const { reserve, settle } = await start(100);
  const first = await reserve({ cents: 40 });
  expect(await reserve({ cents: 40 })).toEqual(first);
  expect(await reserve({ cents: 41 })).toMatchObject({ decision: 'deny', reason: 'call_malformed: cost_id "c1" has another amount' });
  await settle({ cents: 30 });
  expect(await settle({ cents: 30 })).toMatchObject({ decision: 'allow', cents: 30 });
  expect(await settle({ cents: 31 })).toMatchObject({
    decision: 'deny',
    reason: expect.stringContaining('is settled already, with 30 cents'),
  });
  expect(await reserve({ cents: 40 })).toMatchObject({ decision: 'deny', reason: expect.stringContaining('is settled already') });
  expect(await reserve({ cost_id: 'c2', cents: 70 })).toMatchObject({ decision: 'allow' });
  expect(await reserve({ cost_id: 'c3', cents: 0.000001 })).toMatchObject({ decision: 'deny' });
});

test('with a least amount, what is left is reserved', async () => {
  const { reserve } = await start(30);
  expect(await reserve({ cents: 50, least_cents: 31 })).toMatchObject({ decision: 'deny', stopped: 'max_budget' });
  expect(await reserve({ cents: 50, least_cents: 20 })).toMatchObject({ decision: 'allow', cents: 30 });
});

test('what was spent counts in full, also above its reservation, and without one', async () => {
  const { reserve, settle } = await start(100);
  await reserve({ cents: 10 });
  await settle({ cents: 35 });
  await settle({ cost_id: 'never reserved', cents: 40 });
  expect(await reserve({ cost_id: 'c2', cents: 26 })).toMatchObject({ reason: expect.stringContaining('25 of 100 are left') });
});

test('what is reserved and spent stays counted over many minutes without a request, after which a session is forgotten', async () => {
  const { sidecar, reserve, settle, call } = await start(100);
  await reserve({ cents: 40 });
  await reserve({ cost_id: 'c2', cents: 60 });
  await settle({ cost_id: 'c2', cents: 60 });
  sidecar.time.now += 1_100_000;
  await call({ session_id: 'another' });
  expect(await reserve({ cost_id: 'c3', cents: 1 })).toMatchObject({ decision: 'deny', kind: 'retry' });
  sidecar.time.now += 1_100_000;
  await settle({ cents: 40 });
  sidecar.time.now += 1_100_000;
  await call({ session_id: 'another' });
  expect(await call()).toMatchObject({ decision: 'deny', reason: expect.stringMatching(/^cap_budget: /) });
});

test('an agent that was handed a task spends from its own budget and from the one above', async () => {
  const { reserve, settle, call } = await start(100);
  const chain = { agent_name: 'helper', agent_chain: ['bot', 'helper'], agent_tier: 'subagent' };
  expect(await reserve({ ...chain, cents: 51 })).toMatchObject({ decision: 'deny', reason: expect.stringContaining('50 of 50') });
  expect(await reserve({ ...chain, cents: 50 })).toMatchObject({ decision: 'allow' });
  await settle({ ...chain, cents: 50 });
  expect(await reserve({ cost_id: 'c2', cents: 51 })).toMatchObject({ decision: 'deny', reason: expect.stringContaining('50 of 100') });
  expect(await reserve({ cost_id: 'c2', cents: 50 })).toMatchObject({ decision: 'allow' });
  await settle({ cost_id: 'c2', cents: 50 });
  expect(await call()).toMatchObject({ reason: expect.stringMatching(/^cap_budget: /) });
});

test('sessions and agents without a cap do not share a budget', async () => {
  const { reserve } = await start(100);
  await reserve({ cents: 100 });
  expect(await reserve({ cents: 100, session_id: 's2' })).toMatchObject({ decision: 'allow' });
  expect(await reserve({ cents: 1_000_000_000, agent_name: 'not registered' })).toMatchObject({ decision: 'allow' });
});

test('while policy lets the run do nothing, no cost is reserved, and a cost is settled', async () => {
  const { reserve, settle } = await start(100, { world: { settings: settings({ frozen: true }) } });
  expect(await reserve()).toMatchObject({ decision: 'deny', reason: expect.stringMatching(/^workspace_frozen: /), kind: 'terminal' });
  expect(await settle()).toMatchObject({ decision: 'allow' });
});

test('another user is a question of the scope', async () => {
  const { reserve } = await start(100, { world: { keys: [key({ scopes: ['govern'] })], members: [member(), member({ uid: 'bob' })] } });
  expect(await reserve({ impersonate_uid: 'bob' })).toMatchObject({ decision: 'deny' });
});

const malformed = [
  ['no JSON', '{'],
  ['no object', '[]'],
  ['an unknown action', { action: 'take' }],
  ['no id', { cost_id: undefined }],
  ['an id with a control character', { cost_id: 'a\u0000' }],
  ['no cents', { cents: undefined }],
  ['cents as text', { cents: '5' }],
  ['negative cents', { cents: -1 }],
  ['more cents than there can be', { cents: 1_000_000_001 }],
  ['NaN', '{"action":"reserve","cost_id":"a","cents":NaN,"session_id":"s"}'],
  ['cents that a double rounds', '{"action":"reserve","cost_id":"a","cents":12345678901234567890,"session_id":"s"}'],
  ['negative least cents', { least_cents: -1 }],
  ['no session', { session_id: undefined }],
  ['an empty session', { session_id: '' }],
] as const;

test.each(malformed)('%s: 200, deny, call_malformed', async (_, body) => {
  const { post, ask } = await start(100);
  const answer = typeof body === 'string' ? await post('/govern/cost', body) : await ask(body);
  expect(answer).toMatchObject({
    status: 200,
    body: { decision: 'deny', kind: 'terminal', reason: expect.stringMatching(/^call_malformed: /) },
  });
});

test.each(malformed)('%s: 400 with an error where TOLLGATE_HOOK_STATUS is http', async (_, body) => {
  const { post, ask } = await start(100, {}, { hookStatus: 'http' });
  const answer = typeof body === 'string' ? await post('/govern/cost', body) : await ask(body);
  expect(answer).toMatchObject({
    status: 400,
    body: { decision: 'deny', kind: 'terminal', reason: `call_malformed: ${String(answer.body['error'])}` },
  });
});

test('where TOLLGATE_HOOK_STATUS is http, a body that is too large is 413, and a cost that does not fit is 200', async () => {
  const { ask } = await start(100, {}, { hookStatus: 'http' });
  expect(await ask({ filler: 'x'.repeat(bounds.bodyBytes) })).toMatchObject({ status: 413, body: { decision: 'deny' } });
  expect(await ask({ cents: 101 })).toMatchObject({ status: 200, body: { decision: 'deny', stopped: 'max_budget' } });
  expect(await ask({ cents: 100 })).toMatchObject({ status: 200, body: { decision: 'allow' } });
});

test('a body that is too large is denied, and a wrong key is 401 with a decision', async () => {
  const { ask, post } = await start(100);
  expect(await ask({ filler: 'x'.repeat(bounds.bodyBytes) })).toMatchObject({
    status: 200,
    body: { decision: 'deny', reason: expect.stringMatching(/^input_too_large: /) },
  });
  expect(await post('/govern/cost', {}, { authorization: `Bearer ${keyText('absent')}` })).toMatchObject({
    status: 401,
    body: { decision: 'deny' },
  });
});

test('ids that were settled long ago are forgotten, and what they cost is not', async () => {
  const { reserve, settle } = await start(1_000);
  for (let at = 0; at < 200; at += 1) await settle({ cost_id: `c${at}`, cents: 5 });
  expect(await reserve({ cost_id: 'last', cents: 1 })).toMatchObject({ decision: 'deny', stopped: 'max_budget' });
});
