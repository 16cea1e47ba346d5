// The hook endpoint and the hooks of hosts, for calls that policy asks a person for.
import { expect, test } from 'vitest';
import { keepApprovals } from '../../../../sidecar/engine/approvals/approval-keeper.ts';
import { terms } from '../../../support/approval-asks.ts';
import { ApprovalLedger } from '../../../support/approval-ledger.ts';
import { createTestServer, createTestSidecar } from '../../../support/governing.ts';
import { createManualClock } from '../../../support/manual-clock.ts';
import { agent, document, key, keyText, type World } from '../../../support/snapshots.ts';

const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 6; turn += 1) await new Promise((done) => void setImmediate(done));
};

const world: World = {
  agents: [agent({ id: 'other', name: 'other' })],
  keys: [key(), key({ id: 'key-2', uid: 'ann' })],
  documents: [
    document({
      tools: ['mail.send', 'Bash'].map((tool) => [tool, [['interactive', { permission: 'ask', ask: terms }]]] as const),
    }),
  ],
};

async function start() {
  const clock = createManualClock();
  const ledger = new ApprovalLedger(clock);
  const approvals = keepApprovals({ clock, random: () => 0.5, log: { info: () => undefined }, open: ledger.open });
  const sidecar = await createTestSidecar({ world, clock, approvals });
  const { app, registry } = createTestServer(sidecar);
  const use = async (fields: object = {}) => {
    const body = { tool_name: 'mail.send', tool_input: { to: 'bob' }, session_id: 's1', agent_name: 'someone', ...fields };
    const answer = await app.inject({
      method: 'POST',
      url: '/govern/tool-use',
      headers: { authorization: keyText('key1') },
      payload: body,
    });
    return { status: answer.statusCode, body: answer.json<Record<string, unknown>>() };
  };
  const read = async (id: string, by = 'key1') => {
    const answer = await app.inject({ method: 'GET', url: `/govern/approvals/${id}`, headers: { authorization: `Bearer ${keyText(by)}` } });
    return { status: answer.statusCode, body: answer.json<Record<string, unknown>>() };
  };
  const host = async (name: string, payload: object, headers: Readonly<Record<string, string>> = {}) => {
    const answer = await app.inject({
      method: 'POST',
      url: `/hooks/${name}`,
      headers: { authorization: `Bearer ${keyText('key1')}`, ...headers },
      payload,
    });
    return { kind: answer.headers['x-tollgate-answer'], text: answer.body };
  };
  return { clock, ledger, sidecar, registry, use, read, host };
}

test('without wait_ms the call is answered at once, with the approval, and the same call meets the answer later', async () => {
  const { ledger, use, read } = await start();
  expect(await use()).toEqual({
    status: 200,
    body: {
      decision: 'deny',
      reason: expect.stringMatching(/^approval_pending: approval ap-1 has no answer yet; /),
      kind: 'retry',
      retryAfterMs: expect.any(Number),
      remedies: expect.any(Array),
      approval_id: 'ap-1',
      waitMs: 300_000,
      request_id: expect.any(String),
    },
  });
  expect(await read('ap-1')).toMatchObject({ status: 200, body: { approval_id: 'ap-1', state: 'pending' } });
  ledger.approve('ap-1');
  expect(await read('ap-1')).toMatchObject({ status: 200, body: { state: 'approved', answered_at: expect.any(String) } });
  expect(await use()).toMatchObject({ body: { decision: 'allow' } });
  expect(await use()).toMatchObject({ body: { decision: 'deny', approval_id: 'ap-2' } });
});

test('with wait_ms the call is held until the answer', async () => {
  const { ledger, sidecar, registry, use } = await start();
  const asking = use({ wait_ms: 50_000 });
  await settled();
  expect(await registry.metrics()).toMatch(/^tollgate_approval_held_calls 1$/m);
  ledger.approve('ap-1');
  expect(await asking).toMatchObject({ status: 200, body: { decision: 'allow' } });
  expect((await sidecar.entries()).map(({ code, approval }) => [code, approval?.by])).toEqual([['allowed', 'ann']]);
  expect(await registry.metrics()).toMatch(/^tollgate_approval_answers_total\{answer="approved"\} 1$/m);
});

test('with wait_ms the call is answered when its time is over', async () => {
  const { clock, use } = await start();
  const asking = use({ wait_ms: 3_000 });
  await settled();
  clock.advance(3_000);
  expect(await asking).toMatchObject({ body: { decision: 'deny', approval_id: 'ap-1', kind: 'retry' } });
});

test('a denial with its note answers the same call again', async () => {
  const { ledger, use, read } = await start();
  await use();
  ledger.deny('ap-1', 'not to bob');
  for (let time = 0; time < 2; time++)
    expect(await use()).toMatchObject({
      body: { decision: 'deny', kind: 'terminal', reason: expect.stringContaining('not to bob'), approval_id: 'ap-1' },
    });
  expect(await read('ap-1')).toMatchObject({ body: { state: 'denied', note: 'not to bob' } });
});

test.each([-1, 50_001, 1.5, '10', true])('wait_ms %s is refused', async (wait) => {
  const { ledger, use } = await start();
  expect(await use({ wait_ms: wait })).toMatchObject({ body: { decision: 'deny', reason: expect.stringContaining('wait_ms must be') } });
  expect(ledger.rows).toEqual([]);
});

test('an input with a number that would be rounded cannot be asked for', async () => {
  const { ledger, sidecar, use } = await start();
  const app = createTestServer(sidecar).app;
  const answer = await app.inject({
    method: 'POST',
    url: '/govern/tool-use',
    headers: { authorization: keyText('key1'), 'content-type': 'application/json' },
    payload: '{"tool_name":"mail.send","tool_input":{"amount":9007199254740993},"agent_name":"someone"}',
  });
  expect(answer.json()).toMatchObject({
    decision: 'deny',
    reason: expect.stringMatching(/^call_malformed: .*rounded.*cannot be asked for/),
  });
  expect(ledger.rows).toEqual([]);
  // 1.0 and 1 are the same number, and the order of keys says nothing.
  await use({ tool_input: { a: 1, b: 2 } });
  const same = await app.inject({
    method: 'POST',
    url: '/govern/tool-use',
    headers: { authorization: keyText('key1'), 'content-type': 'application/json' },
    payload: '{"tool_name":"mail.send","tool_input":{"b":2.0,"a":1.0},"session_id":"s1","agent_name":"someone"}',
  });
  expect(same.json()).toMatchObject({ approval_id: 'ap-1' });
});

test('only the key that asked may read an approval', async () => {
  const { use, read } = await start();
  await use();
  expect((await read('ap-1', 'key2')).status).toBe(404);
  expect((await read('ap-9')).status).toBe(404);
  expect((await read('ap-1', 'absent')).status).toBe(401);
});

const bash = { session_id: 's1', hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_input: { command: 'ls' }, cwd: '/' };

test('a hook of a host is held for two seconds, and as long as hooks install wrote into it', async () => {
  const { clock, ledger, host } = await start();
  const short = host('claude-code', bash);
  await settled();
  clock.advance(2_000);
  expect(await short).toMatchObject({ kind: 'deny', text: expect.stringContaining('make exactly the same call again') });
  const long = host('claude-code', bash, { 'x-tollgate-wait-ms': '55000' });
  await settled();
  clock.advance(54_000);
  await settled();
  ledger.approve('ap-1');
  expect(await long).toMatchObject({ kind: 'allow' });
  expect(ledger.rows).toHaveLength(1);
});

test('a wait in the header that is no time is refused', async () => {
  const { ledger, host } = await start();
  for (const wait of ['', '-1', '1e3', 'soon', '99999999'])
    expect(await host('claude-code', bash, { 'x-tollgate-wait-ms': wait })).toMatchObject({
      kind: 'deny',
      text: expect.stringContaining('X-Tollgate-Wait-Ms'),
    });
  expect(ledger.rows).toEqual([]);
});

test('a process that ends answers the calls that it holds', async () => {
  const { sidecar, use } = await start();
  const asking = use({ wait_ms: 50_000 });
  await settled();
  sidecar.approvals?.drain();
  expect(await asking).toMatchObject({ status: 200, body: { decision: 'deny', approval_id: 'ap-1' } });
});
