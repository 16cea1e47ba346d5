// Calls that wait for a lease: their number is bounded, and a call over the bound is decided at once.
import { expect, test } from 'vitest';
import type { LeasedCounter } from '../../../../sidecar/engine/decide/decision.ts';
import { Waiting } from '../../../../sidecar/engine/limits/waiting.ts';
import { runOf } from '../../../support/lease-names.ts';

const lease: LeasedCounter = { counter: runOf('agent'), hasCapacity: () => false, take: () => undefined, undoOf: () => () => undefined };

test('10,000 calls wait, each in its queue once, and one more is decided without a wait', () => {
  const over: boolean[] = [];
  const waiting = new Waiting(250, (_waitedMs, inVain) => over.push(inVain));
  const tries: boolean[] = [];
  const retry = (isLast: boolean) => {
    tries.push(isLast);
    return [lease];
  };
  for (let n = 0; n < 10_000; n += 1) expect(waiting.add([lease], 0, n % 2 === 0 ? 100 : Number.POSITIVE_INFINITY, retry)).toBe(true);
  expect(waiting.add([lease], 0, 100, retry)).toBe(false);
  expect(tries).toEqual([true]);
  expect(over).toEqual([true]);
  expect(waiting.size).toBe(10_000);
  expect(waiting.countFor(lease)).toBe(10_000);
  waiting.begin(0);
  waiting.end(100);
  expect(waiting.size).toBe(5_000);
  waiting.end(250);
  expect(waiting.size).toBe(0);
  expect(waiting.countFor(lease)).toBe(0);
});
