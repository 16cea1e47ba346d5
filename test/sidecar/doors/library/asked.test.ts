// A program that uses the library, and calls that policy asks a person for.
import type { CompiledAsk } from '@tollgate/proto/contract';
import { expect, test } from 'vitest';
import { startRun } from '../../../../sidecar/doors/library/library.ts';
import { keepApprovals } from '../../../../sidecar/engine/approvals/approval-keeper.ts';
import type { Denial, Verdict } from '../../../../sidecar/engine/govern/verdict.ts';
import { terms } from '../../../support/approval-asks.ts';
import { ApprovalLedger } from '../../../support/approval-ledger.ts';
import { caseOf } from '../../../support/cased-rules.ts';
import { createTestSidecar } from '../../../support/governing.ts';
import { createManualClock } from '../../../support/manual-clock.ts';
import { agent, document, type World } from '../../../support/snapshots.ts';

const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((done) => void setImmediate(done));
};

const asking = (changed: Partial<CompiledAsk> = {}, rule: object = {}): World => ({
  documents: [document({ tools: [['pay', [['interactive', { permission: 'ask', ask: { ...terms, ...changed }, ...rule }]]]] })],
});

async function start(world: World = asking()) {
  const clock = createManualClock();
  const ledger = new ApprovalLedger(clock);
  const approvals = keepApprovals({ clock, random: () => 0.5, log: { info: () => undefined }, open: ledger.open });
  const sidecar = await createTestSidecar({ world, clock, approvals });
  const run = startRun(sidecar, { agent: 'someone', tier: 'interactive', sessionId: 's1' });
  const made: unknown[] = [];
  const pay = run.guard('pay', (input: unknown) => {
    made.push(input);
    return 'paid';
  });
  return { clock, ledger, sidecar, run, made, pay };
}

const denied = (verdict: Verdict): Denial => (verdict.allowed ? expect.fail('it was allowed') : verdict);

test('a guarded tool waits for the person, and the call is made once', async () => {
  const { ledger, sidecar, made, pay } = await start();
  const paying = pay({ amount: 5 });
  await settled();
  expect(made).toEqual([]);
  expect(ledger.rows[0]?.ask).toMatchObject({ shownInput: '{"amount":5}', hidden: [], call: { tool: 'pay', agents: ['someone'] } });
  ledger.approve('ap-1');
  expect(await paying).toBe('paid');
  expect(made).toEqual([{ amount: 5 }]);
  const [decided] = await sidecar.entries();
  expect(decided).toMatchObject({ decision: 'allow', code: 'allowed', approval: { id: 'ap-1', by: 'ann', at: expect.any(String) } });
  // The claim is that of the entry's request.
  expect([...(ledger.rows[0]?.claims ?? [])]).toEqual([[decided?.requestId, 'claimed']]);
});

test('what the caller changes in its object while it waits changes nothing', async () => {
  const { ledger, made, pay } = await start();
  const input = { to: 'bob', amounts: [5] };
  const paying = pay(input);
  input.to = 'eve';
  input.amounts.push(1_000_000);
  await settled();
  input.to = 'mallory';
  ledger.approve('ap-1');
  await paying;
  expect(made).toEqual([{ to: 'bob', amounts: [5] }]);
});

test('a person who denies is quoted to the model, and the model is told not to try another way', async () => {
  const { ledger, sidecar, made, pay } = await start();
  const paying = pay({ amount: 5 });
  await settled();
  ledger.deny('ap-1', 'ask finance first');
  await expect(paying).rejects.toThrow(/not made: approval_denied: a person has denied this call: ask finance first.*Do not.*another way/);
  expect(made).toEqual([]);
  expect((await sidecar.entries())[0]).toMatchObject({ decision: 'deny', code: 'approval_denied', approval: { id: 'ap-1', by: 'ann' } });
});

test('a guarded tool waits as long as the rule says, and says then that no one has answered', async () => {
  const { clock, ledger, made, pay } = await start(asking({ waitSeconds: 30 }));
  const paying = pay({ amount: 5 });
  await settled();
  clock.advance(29_999);
  await settled();
  clock.advance(1);
  await expect(paying).rejects.toThrow(/approval_pending: approval ap-1 has no answer yet.*make exactly the same call again/);
  ledger.approve('ap-1');
  expect(await pay({ amount: 5 })).toBe('paid');
  expect(made).toHaveLength(1);
});

test('an aborted wait makes no call, and the approval remains for the same call', async () => {
  const { ledger, run, sidecar } = await start();
  const stop = new AbortController();
  const made: unknown[] = [];
  const pay = run.guard('pay', (input) => void made.push(input), { signal: stop.signal });
  const paying = pay({ amount: 5 });
  await settled();
  stop.abort();
  await expect(paying).rejects.toThrow(/caller_gone/);
  ledger.approve('ap-1');
  await settled();
  expect(made).toEqual([]);
  expect(ledger.rows[0]?.claims.size).toBe(0);
  expect((await sidecar.entries())[0]).toMatchObject({ code: 'caller_gone', approval: { id: 'ap-1' } });
});

test('decide answers at once with the approval and a promise of the verdict', async () => {
  const { ledger, run } = await start();
  const input = { amount: 5 };
  const { code, kind, retryAfterMs, asked } = denied(await run.decide({ tool: 'pay', input }));
  expect({ code, kind, id: asked?.id }).toEqual({ code: 'approval_pending', kind: 'retry', id: 'ap-1' });
  expect(retryAfterMs).toBeGreaterThan(0);
  input.amount = 1_000_000;
  const deciding = asked?.decided;
  expect(asked?.decided).toBe(deciding);
  await settled();
  ledger.approve('ap-1');
  expect(await deciding).toMatchObject({ allowed: true, input: { amount: 5 } });
  expect(ledger.rows).toHaveLength(1);
});

test('an approval is for one input: another one asks again', async () => {
  const { ledger, run } = await start();
  await run.decide({ tool: 'pay', input: { amount: 5, to: 'bob' } });
  ledger.approve('ap-1');
  expect(denied(await run.decide({ tool: 'pay', input: { amount: 50, to: 'bob' } })).asked?.id).toBe('ap-2');
  expect(await run.decide({ tool: 'pay', input: { to: 'bob', amount: 5.0 } })).toMatchObject({ allowed: true });
  // It is used now.
  expect(denied(await run.decide({ tool: 'pay', input: { to: 'bob', amount: 5 } })).asked?.id).toBe('ap-3');
});

test('an approval is for one session and one rule', async () => {
  const { ledger, run, sidecar } = await start();
  await run.decide({ tool: 'pay', input: {} });
  ledger.approve('ap-1');
  const other = startRun(sidecar, { agent: 'someone', tier: 'interactive', sessionId: 's2' });
  expect(denied(await other.decide({ tool: 'pay', input: {} })).asked?.id).toBe('ap-2');
  sidecar.take(asking({ need: 2 }));
  expect(denied(await run.decide({ tool: 'pay', input: {} })).asked?.id).toBe('ap-3');
});

test.each([
  ['policy denies by then', document({ tools: [['pay', [['interactive', { permission: 'deny' }]]]] }), 'policy_denied'],
  ['the limit has no calls left', null, 'rate_limited'],
])('approved is not allowed: %s, and the use is given back', async (_why, changed, code) => {
  const { ledger, sidecar, run, pay, made } = await start(asking({}, changed === null ? { rateLimit: 1 } : {}));
  const paying = pay({ amount: 1 });
  await settled();
  if (changed !== null) sidecar.take({ documents: [changed] });
  else {
    const other = denied(await run.decide({ tool: 'pay', input: { amount: 2 } }));
    ledger.approve(other.asked?.id ?? '');
    expect(await other.asked?.decided).toMatchObject({ allowed: true });
  }
  ledger.approve('ap-1');
  await expect(paying).rejects.toThrow(code);
  expect(made).toEqual([]);
  const row = ledger.rows[0] ?? expect.fail();
  expect(ledger.usesOf(row)).toBe(0);
});

test('a frozen workspace wins over an approval', async () => {
  const { ledger, sidecar, pay } = await start();
  const paying = pay({ amount: 1 });
  await settled();
  sidecar.take({ ...asking(), settings: { frozen: true } });
  ledger.approve('ap-1');
  await expect(paying).rejects.toThrow('workspace_frozen');
  expect(ledger.usesOf(ledger.rows[0] ?? expect.fail())).toBe(0);
});

test('a key that was revoked meanwhile wins over an approval', async () => {
  const { ledger, sidecar, pay, made } = await start();
  const paying = pay({ amount: 1 });
  await settled();
  sidecar.take({ ...asking(), keys: [] });
  ledger.approve('ap-1');
  await expect(paying).rejects.toThrow('key_revoked');
  expect(made).toEqual([]);
  expect(ledger.usesOf(ledger.rows[0] ?? expect.fail())).toBe(0);
});

test('conditions read the time when the call continues, not when it was asked for', async () => {
  const { clock, ledger, pay, made } = await start(asking({}, { cases: [caseOf('now.getMinutes() >= 2')] }));
  const paying = pay({ amount: 1 });
  await settled();
  clock.advance(120_000);
  ledger.approve('ap-1');
  await expect(paying).rejects.toThrow('policy_denied');
  expect(made).toEqual([]);
  expect(ledger.usesOf(ledger.rows[0] ?? expect.fail())).toBe(0);
});

test('a rule that asks for more by then asks again', async () => {
  const { ledger, sidecar, pay, made } = await start();
  const paying = pay({ amount: 1 });
  await settled();
  sidecar.take(asking({ need: 2 }));
  ledger.approve('ap-1');
  await settled();
  expect(made).toEqual([]);
  expect(ledger.usesOf(ledger.rows[0] ?? expect.fail())).toBe(0);
  expect(ledger.rows[1]?.ask.call.rules[0]?.terms.need).toBe(2);
  ledger.approve('ap-2');
  await paying;
  expect(made).toHaveLength(1);
});

test('a limit is tested before a person is asked', async () => {
  const { ledger, run } = await start(asking({}, { rateLimit: 0 }));
  expect(denied(await run.decide({ tool: 'pay', input: {} }))).toMatchObject({ code: 'rate_limited' });
  expect(ledger.rows).toEqual([]);
});

test('a permit that cannot be recorded gives its use back', async () => {
  const { ledger, sidecar, pay, made } = await start();
  const paying = pay({ amount: 1 });
  await settled();
  sidecar.spoolFault = 'full';
  ledger.approve('ap-1');
  await expect(paying).rejects.toThrow('audit_unavailable');
  expect(made).toEqual([]);
  expect(ledger.usesOf(ledger.rows[0] ?? expect.fail())).toBe(0);
});

test.each([
  ['bytes', { data: Buffer.from('x') }],
  ['a number without JSON', { amount: Number.NaN }],
  ['a function', { then: () => undefined }],
])('an input with %s cannot be asked for', async (_what, input) => {
  const { ledger, pay, made } = await start();
  await expect(pay(input)).rejects.toThrow(/call_malformed.*cannot be asked for/);
  expect(ledger.rows).toEqual([]);
  expect(made).toEqual([]);
});

test('what redaction hides from the person is listed, and the tool receives the original', async () => {
  const { ledger, pay, made } = await start();
  const password = 'rm -rf / --no-preserve-root;X9$kQ2';
  const paying = pay({ password });
  await settled();
  const [row] = ledger.rows;
  expect(row?.ask.shownInput).not.toContain('rm -rf');
  expect(row?.ask.hidden).toEqual([{ path: 'password', kind: 'password', length: password.length, value: JSON.stringify(password) }]);
  ledger.approve('ap-1');
  await paying;
  expect(made).toEqual([{ password }]);
});

test('where policy redacts, the tool receives what the person has seen', async () => {
  const { ledger, pay, made } = await start(asking({}, { transform: 'redact' }));
  const paying = pay({ to: 'ann.lee@hotmail.com' });
  await settled();
  expect(ledger.rows[0]?.ask.hidden).toEqual([]);
  ledger.approve('ap-1');
  await paying;
  expect(made).toEqual([JSON.parse(ledger.rows[0]?.ask.shownInput ?? '')]);
});

test.each([
  ['a call that waits', true],
  ['the same call made again', false],
])('where policy no longer redacts by then, the person is asked again, with what is hidden: %s', async (_how, waits) => {
  const { ledger, sidecar, run, pay, made } = await start(asking({}, { transform: 'redact' }));
  const input = { to: 'ann.lee@hotmail.com' };
  const paying = waits ? pay(input) : null;
  if (!waits) await run.decide({ tool: 'pay', input });
  await settled();
  sidecar.take(asking());
  ledger.approve('ap-1');
  const later = paying ?? pay(input);
  await settled();
  // The approved call had a mark in place of the address.
  expect(made).toEqual([]);
  expect(ledger.usesOf(ledger.rows[0] ?? expect.fail())).toBe(0);
  expect(ledger.rows[1]?.ask.hidden).toMatchObject([{ path: 'to', kind: 'email' }]);
  ledger.approve('ap-2');
  await later;
  expect(made).toEqual([input]);
});

test('where policy redacts, the same call of another process meets its approval, whatever number a mark has there', async () => {
  const { ledger, run, sidecar } = await start(asking({}, { transform: 'redact' }));
  const input = { to: 'ann.lee@hotmail.com' };
  await run.decide({ tool: 'pay', input });
  const other = startRun(sidecar, { agent: 'someone', tier: 'interactive', sessionId: 's1' });
  await other.decide({ tool: 'pay', input: { to: 'bob.day@hotmail.com' } });
  expect(denied(await other.decide({ tool: 'pay', input })).asked?.id).toBe('ap-1');
  expect(ledger.rows).toHaveLength(2);
});

const capped = (maxToolCalls: number): World => ({
  ...asking(),
  agents: [agent({ name: 'someone', maxToolCalls, enabledTools: ['pay', 'free'] })],
});

test('asking is one attempt of the cap; to meet the approval and to continue count none', async () => {
  const { ledger, run } = await start(capped(2));
  for (let time = 0; time < 3; time++) expect(denied(await run.decide({ tool: 'pay', input: {} })).code).toBe('approval_pending');
  expect(await run.decide({ tool: 'free', input: {} })).toMatchObject({ allowed: true });
  expect(denied(await run.decide({ tool: 'free', input: {} })).code).toBe('cap_tool_calls');
  // The call that was asked for is one of the two.
  ledger.approve('ap-1');
  expect(await run.decide({ tool: 'pay', input: {} })).toMatchObject({ allowed: true });
  // Another one is not, and no one is asked.
  expect(denied(await run.decide({ tool: 'pay', input: { amount: 1 } })).code).toBe('cap_tool_calls');
  expect(denied(await run.decide({ tool: 'pay', input: {} })).code).toBe('cap_tool_calls');
  expect(ledger.rows).toHaveLength(1);
});

test('further uses of one approval are attempts of their own, and end at the cap', async () => {
  const { ledger, run } = await start({ ...capped(2), ...asking({ uses: 5 }) });
  await run.decide({ tool: 'pay', input: {} });
  ledger.approve('ap-1');
  for (let use = 0; use < 2; use++) expect(await run.decide({ tool: 'pay', input: {} })).toMatchObject({ allowed: true });
  expect(denied(await run.decide({ tool: 'pay', input: {} })).code).toBe('cap_tool_calls');
  expect(ledger.usesOf(ledger.rows[0] ?? expect.fail())).toBe(2);
});

test('a call that a person has denied is an attempt each time it is made again', async () => {
  const { ledger, run } = await start(capped(3));
  await run.decide({ tool: 'pay', input: {} });
  ledger.deny('ap-1');
  const codes = [];
  for (let time = 0; time < 3; time++) codes.push(denied(await run.decide({ tool: 'pay', input: {} })).code);
  expect(codes).toEqual(['approval_denied', 'approval_denied', 'approval_denied']);
  expect(denied(await run.decide({ tool: 'free', input: {} })).code).toBe('cap_tool_calls');
});

test('without anyone who can be asked the call is denied', async () => {
  const sidecar = await createTestSidecar({ world: asking() });
  const run = startRun(sidecar, { agent: 'someone', tier: 'interactive' });
  expect(denied(await run.decide({ tool: 'pay', input: {} }))).toMatchObject({ code: 'approval_unavailable', kind: 'retry' });
});

test('what is forwarded besides the input is shown and bound, or the call cannot be asked for', async () => {
  const { ledger, run } = await start();
  const call = (note: string) => ({ tool: 'pay', input: { amount: 1 }, alsoForwarded: { note, id: 7 }, besides: { note } });
  expect(denied(await run.decide({ tool: 'pay', input: {}, alsoForwarded: { note: 'to eve' } })).reason).toMatch(
    /^call_malformed: .*not shown, so the call cannot be asked for/,
  );
  const large = { text: 'x'.repeat(2_000_000) };
  expect(denied(await run.decide({ tool: 'pay', input: {}, besides: large })).code).toBe('call_malformed');
  expect(ledger.rows).toEqual([]);
  await run.decide(call('to bob'));
  expect(JSON.parse(ledger.rows[0]?.ask.shownInput ?? '')).toEqual({ input: { amount: 1 }, alsoForwarded: { note: 'to bob' } });
  ledger.approve('ap-1');
  expect(denied(await run.decide(call('to eve'))).asked?.id).toBe('ap-2');
  expect(await run.decide(call('to bob'))).toMatchObject({ allowed: true, input: { amount: 1 } });
});

test('the program is told when its call begins to wait', async () => {
  const { ledger, run } = await start();
  const told: string[] = [];
  const deciding = run.decide({ tool: 'pay', input: {} }, { waitMs: 1_000, onAsked: (id) => void told.push(id) });
  await settled();
  expect(told).toEqual(['ap-1']);
  ledger.approve('ap-1');
  expect(await deciding).toMatchObject({ allowed: true });
  expect(told).toHaveLength(1);
});
