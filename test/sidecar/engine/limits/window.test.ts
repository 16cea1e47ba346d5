import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { stepOf, Window } from '../../../../sidecar/engine/limits/window.ts';

/** The intervals between calls, in ms: bursts, within a step, over steps, and pauses longer than any window. */
const gap = fc.oneof(
  { weight: 4, arbitrary: fc.constant(0) },
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 999 }) },
  { weight: 3, arbitrary: fc.integer({ min: 1_000, max: 5_000 }) },
  fc.integer({ min: 5_000, max: 40_000 }),
);
const scenario = fc.record({
  seconds: fc.integer({ min: 1, max: 12 }),
  max: fc.integer({ min: 0, max: 6 }),
  startMs: fc.integer({ min: 0, max: 10_000 }),
  gaps: fc.array(gap, { maxLength: 60 }),
});

/** Counts the calls in a plain list. Each is charged from its step until `seconds` steps later. */
function chargedIn(list: readonly number[], step: number, seconds: number): number {
  return list.filter((made) => stepOf(made) >= step - seconds && stepOf(made) <= step).length;
}

test('it counts as a plain list does, admits no more than the limit in any window, and returns exactly when the next call fits', () => {
  let throttled = 0;
  fc.assert(
    fc.property(scenario, ({ seconds, max, startMs, gaps }) => {
      const window = new Window(seconds);
      const admitted: number[] = [];
      let now = startMs;
      for (const wait of gaps) {
        now += wait;
        expect(window.used(stepOf(now))).toBe(chargedIn(admitted, stepOf(now), seconds));
        if (window.used(stepOf(now)) < max) {
          expect(window.waitFor(max, now)).toBe(max === 0 ? null : 0);
          window.add(stepOf(now));
          admitted.push(now);
          continue;
        }
        throttled += 1;
        const retryAfterMs = window.waitFor(max, now);
        if (max === 0) {
          expect(retryAfterMs).toBeNull();
          continue;
        }
        if (retryAfterMs === null) throw new Error('no wait is said to help');
        // Not a millisecond earlier, and then at once.
        const at = now + retryAfterMs;
        expect(retryAfterMs).toBeGreaterThan(0);
        expect(chargedIn(admitted, stepOf(at - 1), seconds)).toBeGreaterThanOrEqual(max);
        expect(chargedIn(admitted, stepOf(at), seconds)).toBeLessThan(max);
      }
      for (const from of admitted) {
        expect(admitted.filter((made) => made >= from && made <= from + seconds * 1_000).length).toBeLessThanOrEqual(max);
      }
    }),
    { numRuns: 2_000 },
  );
  expect(throttled).toBeGreaterThan(2_000);
});

test('a clock that does not advance, or a call in the past, counts to the newest step', () => {
  const window = new Window(10);
  window.add(100);
  expect(window.used(50)).toBe(1);
  window.add(50);
  expect(window.charges()).toEqual([[100, 2]]);
  expect(window.used(110)).toBe(2);
  expect(window.used(111)).toBe(0);
});

test('a window with a changed length keeps what was counted for as long as it would have been', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 1, maxLength: 40 }),
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 1, max: 20 }),
      (unsorted, before, after) => {
        const steps = unsorted.toSorted((a, b) => a - b);
        const old = new Window(before);
        for (const step of steps) old.add(step);
        const head = steps.at(-1) ?? 0;
        const remade = new Window(after, old.charges());
        const kept = steps.filter((step) => step >= head - before);
        for (let step = head; step <= head + after + 1; step += 1) {
          expect(remade.used(step)).toBe(kept.filter((made) => made >= step - after).length);
        }
      },
    ),
  );
});

test('an empty window has no charges, and a limit of 0 never allows a call', () => {
  const window = new Window(60);
  expect(window.charges()).toEqual([]);
  expect(window.used(5)).toBe(0);
  expect(window.waitFor(3, 5_000)).toBe(0);
  expect(window.waitFor(0, 5_000)).toBeNull();
});

test('a full window of a day answers after at most one look at each of its seconds', () => {
  const { made: window, looks } = countingLooks(() => new Window(86_400));
  window.add(200_000);
  const now = 200_000_000 + 60_000;
  const before = looks();
  expect(window.waitFor(1, now)).toBe(86_341_000);
  expect(looks() - before).toBeGreaterThan(86_000);
  for (let at = 0; at < 9; at += 1) expect(window.waitFor(1, now)).toBe(86_341_000);
  expect(looks() - before).toBeLessThanOrEqual(10 * 86_401);
});

/** What `make` builds with typed arrays, and how often their elements were read since. */
function countingLooks<T>(make: () => T): { readonly made: T; readonly looks: () => number } {
  let looks = 0;
  const Real = Uint32Array;
  const counted = function (length: number): Uint32Array {
    return new Proxy(new Real(length), {
      get(array, name) {
        if (typeof name === 'string' && /^\d+$/.test(name)) looks += 1;
        const value: unknown = Reflect.get(array, name, array);
        return typeof value === 'function' ? value.bind(array) : value;
      },
    });
  };
  vi.stubGlobal('Uint32Array', counted);
  try {
    return { made: make(), looks: () => looks };
  } finally {
    vi.unstubAllGlobals();
  }
}
