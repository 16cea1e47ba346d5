// Calls of a session that wait for their outcome: which of them is found, and how many are stored.
import { expect, test } from 'vitest';
import { type ClaimedCall, PendingCalls } from '../../../../sidecar/doors/sessions/pending-calls.ts';
import type { Permit } from '../../../../sidecar/engine/govern/verdict.ts';

const decidedUnder = (revision: number, callerText = ''): Permit['decidedBy'] => ({
  callerText,
  agent: '',
  revision,
  mayGoUnrecorded: false,
});
const one = decidedUnder(1);
const permit = (requestId: string, input: unknown = {}, decidedBy = one): Permit => ({
  allowed: true,
  requestId,
  tool: 'mail.send',
  decision: {} as Permit['decision'],
  findings: [],
  input,
  decidedAt: 0,
  decidedBy,
  inputDigest: '',
  trace: null,
});
const asked = (input: unknown, callId: string | null = null): ClaimedCall => ({ callId, tool: 'mail.send', input });

function start() {
  const kept = { bytes: 0, most: 0 };
  const pending = new PendingCalls((bytes) => {
    kept.bytes += bytes;
    kept.most = Math.max(kept.most, kept.bytes);
  });
  return { pending, kept };
}

test('the newest thousand calls are stored, however many of them are equal', () => {
  const { pending, kept } = start();
  for (let round = 0; round < 10; round += 1) for (let n = 0; n < 1_000; n += 1) pending.add(asked({ n }), permit(`${round} ${n}`, { n }));
  // The memory of a thousand calls under one key each.
  expect(kept.most).toBeLessThan(1_000 * 1_000);
  for (let n = 0; n < 1_000; n += 1) {
    expect(pending.take(asked({ n }))?.requestId).toBe(`9 ${n}`);
    expect(pending.take(asked({ n }))).toBeNull();
  }
  expect([kept.bytes, pending.isEmpty]).toEqual([0, true]);
});

test('of equal calls a hundred are stored, and an outcome belongs to the oldest of them', () => {
  const { pending } = start();
  for (let n = 0; n < 150; n += 1) pending.add(asked({}), permit(String(n)));
  for (let n = 50; n < 150; n += 1) expect(pending.take(asked({}))?.requestId).toBe(String(n));
  expect(pending.take(asked({}))).toBeNull();
});

test('an evicted call is found under none of its keys', () => {
  const { pending, kept } = start();
  for (let n = 0; n < 1_200; n += 1) pending.add(asked({ n }), permit(String(n), { n: `redacted ${n}` }));
  for (const input of [{ n: 0 }, { n: 'redacted 0' }, { n: 199 }, { n: 'redacted 199' }]) expect(pending.take(asked(input))).toBeNull();
  expect(pending.take(asked({ n: 'redacted 200' }))?.requestId).toBe('200');
  expect(pending.take(asked({ n: 200 }))).toBeNull();
  for (let n = 201; n < 1_200; n += 1) expect(pending.take(asked({ n }))?.requestId).toBe(String(n));
  expect([kept.bytes, pending.isEmpty]).toEqual([0, true]);
});

test('the decision data of calls counts once for each revision, and only while a call of it is pending', () => {
  const { pending, kept } = start();
  const caller = 'x'.repeat(1_000);
  const grownBy = (decidedBy: Permit['decidedBy'], n: number): number => {
    const before = kept.bytes;
    pending.add(asked({}, `c${n}`), permit('r', {}, decidedBy));
    return kept.bytes - before;
  };
  const [first, second] = [decidedUnder(1, caller), decidedUnder(2, caller)];
  const [alone, shared, other] = [grownBy(first, 1), grownBy(first, 2), grownBy(second, 3)];
  expect(alone - shared).toBeGreaterThan(2 * caller.length);
  expect(other).toBe(alone);
  for (const [n, bytes] of [
    [1, 2 * alone],
    [2, alone],
    [3, 0],
  ] as const) {
    expect(pending.take(asked({}, `c${n}`))?.decidedBy.revision).toBe(n < 3 ? 1 : 2);
    expect(kept.bytes).toBe(bytes);
  }
});
