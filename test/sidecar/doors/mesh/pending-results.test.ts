// The memory of requests that wait for their results: bounded in bytes for all keys together. A flood of one key evicts
// none of another key.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createPendingResults, type Waiting } from '../../../../sidecar/doors/mesh/pending-results.ts';

const waitingOf = (keyId: string, text = ''): Waiting =>
  ({ run: { claim: { identity: { keyId, sub: 'ann' } }, decidedBy: { callerText: text } }, permits: null }) as unknown as Waiting;

test('100,000 requests of one key evict its own oldest, and none of another key', () => {
  const pending = createPendingResults();
  const mine = waitingOf('honest');
  pending.put('mine', mine);
  for (let n = 0; n < 100_000; n += 1) pending.put(`flood-${n}`, waitingOf('flood'));
  expect(pending.take('mine')).toBe(mine);
  const left = Array.from({ length: 100_000 }, (_, n) => n).filter((n) => pending.take(`flood-${n}`) !== null);
  expect(left.at(-1)).toBe(99_999);
  expect(left[0]).toBe(100_000 - left.length);
  // 16 MiB of 5,000 bytes each, minus what is freed at once.
  expect(left.length).toBeGreaterThan(3_000);
  expect(left.length).toBeLessThan(3_356);
});

test('longer names leave space for fewer requests', () => {
  const pending = createPendingResults(100_000);
  for (let n = 0; n < 100; n += 1) pending.put(`${n}`, waitingOf('a', 'x'.repeat(5_000)));
  expect(Array.from({ length: 100 }, (_, n) => pending.take(`${n}`)).filter((one) => one !== null).length).toBeLessThanOrEqual(2);
});

test('within the budget it is a map of what was put and not taken', () => {
  const step = fc.record({ put: fc.boolean(), id: fc.integer({ min: 0, max: 9 }), key: fc.constantFrom('a', 'b', 'c') });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const pending = createPendingResults();
      const naive = new Map<string, Waiting>();
      for (const { put, id, key } of steps) {
        if (put) {
          const waiting = waitingOf(key);
          pending.put(`${id}`, waiting);
          naive.set(`${id}`, waiting);
        } else {
          expect(pending.take(`${id}`)).toBe(naive.get(`${id}`) ?? null);
          naive.delete(`${id}`);
        }
      }
      for (const [id, waiting] of naive) expect(pending.take(id)).toBe(waiting);
    }),
  );
});
