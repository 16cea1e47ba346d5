// Functions that are called at the same interval, over virtual time.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { shareTimer } from '../../control-plane/base/shared-timer.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('each function is called once in each interval, until it leaves', () => {
  const join = shareTimer(1_000);
  const counts = [0, 0, 0, 0];
  const leave = counts.map((_, at) => {
    vi.advanceTimersByTime(333);
    return join(() => void (counts[at] = (counts[at] ?? 0) + 1));
  });
  // The first ones are called while the last ones join.
  counts.fill(0);
  vi.advanceTimersByTime(10_000);
  expect(counts).toEqual([10, 10, 10, 10]);
  leave[0]?.();
  leave[0]?.();
  vi.advanceTimersByTime(1_000);
  expect(counts).toEqual([10, 11, 11, 11]);
  for (const each of leave) each();
  expect(vi.getTimerCount()).toBe(0);
});

test('the first call is after the interval, or up to 50 ms earlier', () => {
  const join = shareTimer(1_000);
  join(() => undefined);
  vi.advanceTimersByTime(20);
  let calls = 0;
  join(() => void (calls += 1));
  vi.advanceTimersByTime(949);
  expect(calls).toBe(0);
  vi.advanceTimersByTime(51);
  expect(calls).toBe(1);
});

test('functions that are due at about the same time are called by one timer', () => {
  const join = shareTimer(1_000);
  let now = 0;
  const at: number[] = [];
  for (let n = 0; n < 200; n += 1) {
    join(() => void at.push(now));
    vi.advanceTimersByTime(5);
  }
  at.length = 0;
  for (; now < 1_000; now += 1) vi.advanceTimersByTime(1);
  expect(at).toHaveLength(200);
  expect(new Set(at).size).toBe(20);
  expect(vi.getTimerCount()).toBe(1);
});

test('after a long block of the process each function is called once, and then at its interval again', () => {
  const join = shareTimer(1_000);
  const counts = [0, 0];
  for (const at of counts.keys()) {
    join(() => void (counts[at] = (counts[at] ?? 0) + 1));
    vi.advanceTimersByTime(100);
  }
  const now = vi.spyOn(performance, 'now').mockReturnValue(60_000);
  vi.advanceTimersByTime(50);
  now.mockRestore();
  expect(counts).toEqual([1, 1]);
});
