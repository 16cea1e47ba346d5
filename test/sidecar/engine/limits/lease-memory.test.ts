// While the ledger is unavailable, leases cannot report what they owe or hold, so each must be kept. The memory budget
// bounds the number of runs, and one key leaves memory for the others.
import { describe, expect, test } from 'vitest';
import { FairMemory } from '@tollgate/proto/contract';
import { Leases } from '../../../../sidecar/engine/limits/leases.ts';
import { SharedRunCalls } from '../../../../sidecar/engine/limits/shared-calls.ts';
import { runOf } from '../../../support/lease-names.ts';

function start(memoryBytes?: number) {
  const leases = new Leases({ onUrgent: () => undefined, onActive: () => undefined, onWaited: () => undefined }, 250, memoryBytes);
  leases.policyChanged({ epoch: 'e', number: 1 }, 0);
  return {
    leases,
    run: (keyId: string, n: number): SharedRunCalls => new SharedRunCalls(leases, runOf('agent', { keyId, sessionId: `${keyId}-${n}` })),
  };
}

/** One call, as the decision and the record make it. */
function call(calls: SharedRunCalls, now: number): 'allowed' | 'waits' | 'denied' {
  if (!calls.hasCapacity(10, now, true)) return calls.awaits(now) === null ? 'denied' : 'waits';
  calls.take(now);
  return 'allowed';
}

describe('while the ledger is unavailable', () => {
  test('a flood of new sessions is counted locally until the memory is used up, then denied; another key continues, and so do existing runs', () => {
    const { leases, run } = start(1_000_000);
    leases.opened();
    leases.lost(0);
    const first = run('flood', 0);
    expect(call(first, 0)).toBe('allowed');
    const flood = Array.from({ length: 10_000 }, (_, n) => call(run('flood', n + 1), n));
    expect(flood.filter((how) => how === 'allowed').length).toBeGreaterThan(100);
    expect(flood.filter((how) => how === 'allowed').length).toBeLessThan(400);
    expect(flood.at(-1)).toBe('denied');
    expect(leases.size).toBeLessThan(400);
    expect(call(run('honest', 1), 10_000)).toBe('allowed');
    expect(call(first, 10_000)).toBe('allowed');
  });

  test('a ledger that only does not answer in time does not increase what is kept either', () => {
    const { leases, run } = start(1_000_000);
    leases.opened();
    expect(call(run('flood', 0), 0)).toBe('waits');
    leases.asks(0);
    leases.endWaits(240);
    expect(leases.isAway).toBe(true);
    for (let n = 1; n < 10_000; n += 1) expect(call(run('flood', n), 240)).toBe('denied');
    expect(leases.size).toBe(1);
  });
});

test('while the ledger answers slowly, a flood waits only within the memory budget', () => {
  const { leases, run } = start(1_000_000);
  leases.opened();
  const flood = Array.from({ length: 10_000 }, (_, n) => call(run('flood', n), n));
  expect(flood.at(-1)).toBe('denied');
  expect(leases.size).toBeLessThan(400);
  expect(call(run('honest', 1), 10_000)).toBe('waits');
});

test('what was reported and is no longer used is released', () => {
  const { leases, run } = start(1_000_000);
  leases.opened();
  for (let round = 0; round < 20; round += 1) {
    const now = round * 100_000;
    const runs = Array.from({ length: 200 }, (_, n) => run('key', round * 200 + n));
    expect(runs.map((calls) => call(calls, now))).not.toContain('denied');
    const answer = (at: number): void =>
      leases.answered(
        leases.asks(at).map(({ counter, number }) => ({ counter, number, result: { kind: 'full', roomAfterMs: null, shared: false } })),
        at,
      );
    answer(now);
    answer(now + 61_000);
    expect(leases.size).toBe(0);
  }
});

describe('a fair budget', () => {
  test('gives one owner as much as it leaves to all others', () => {
    const memory = new FairMemory<string>(100);
    expect(memory.take('a', 50)).toBe(true);
    expect(memory.take('a', 1)).toBe(false);
    expect(memory.take('b', 25)).toBe(true);
    expect(memory.has('b', 1)).toBe(false);
    expect(memory.take('c', 12)).toBe(true);
    memory.give('a', 50);
    expect(memory.take('b', 10)).toBe(true);
  });
});
