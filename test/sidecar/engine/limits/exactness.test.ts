// Limits are exact over any number of sidecars: the ledger and the leases together, in virtual time, over a network
// that fails in every way. `TOLLGATE_TEST_CASES` raises the number of cases. A failure prints its seed, and
// `TOLLGATE_TEST_SEED` repeats it.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { stepOf, Window } from '../../../../sidecar/engine/limits/window.ts';
import { caseCount } from '../../../support/case-count.ts';
import { crowdedWindow, noFaults, playWorld, type WorldPlan } from './lease-world.ts';

const cases = Math.ceil(caseCount * 0.04);
const seed = process.env['TOLLGATE_TEST_SEED'];
const options = (share: number) => ({
  numRuns: Math.max(1, Math.ceil(cases * share)),
  ...(seed === undefined ? {} : { seed: Number(seed) }),
});
const timeout = Math.max(120_000, cases * 400);

const chance = (most: number) => fc.oneof(fc.constant(0), fc.double({ min: 0, max: most, noNaN: true }));

const faults = fc.record({
  lost: chance(0.4),
  doubled: chance(0.4),
  delayMs: fc.oneof(fc.constant(2), fc.integer({ min: 2, max: 3_000 })),
  cuts: chance(1),
  holderCrashes: chance(0.5),
  ledgerCrashes: chance(5),
  policies: chance(2),
  clockStepsBack: chance(0.2),
});

const plans: fc.Arbitrary<WorldPlan> = fc
  .record({
    seed: fc.integer({ min: 0, max: 0x7fffffff }),
    holders: fc.integer({ min: 1, max: 5 }),
    windowSeconds: fc.integer({ min: 1, max: 8 }),
    max: fc.integer({ min: 1, max: 40 }),
    pressure: fc.double({ min: 0.3, max: 6, noNaN: true }),
    faults,
  })
  .map(({ pressure, ...plan }) => ({
    ...plan,
    callsPerSecond: (plan.max / plan.windowSeconds) * pressure,
    healsAtMs: 20_000,
    endsAtMs: 20_000 + 5 * (plan.windowSeconds + 1) * 1_000,
  }));

test('whatever is lost, late, doubled, cut or dies, and however the limit changes, no window holds more than the highest limit that its calls name', {
  timeout,
}, () => {
  let admitted = 0;
  let falseClaims = 0;
  fc.assert(
    fc.property(plans, (plan) => {
      const told = playWorld(plan);
      admitted += told.admitted.length;
      falseClaims += told.falseClaims.length;
      expect(crowdedWindow(told, plan.windowSeconds)).toBeNull();
    }),
    options(2),
  );
  expect(admitted).toBeGreaterThan(cases * 10);
  expect(falseClaims).toBe(0);
});

test.each(['returnsTwice', 'recallsWithoutWaiting'] as const)('the test detects a ledger that %s', { timeout }, (mutant) => {
  const told = fc.check(
    fc.property(plans, (plan) => crowdedWindow(playWorld(plan, mutant), plan.windowSeconds) === null),
    options(2),
  );
  expect(told.failed).toBe(true);
});

test('once everything works again, calls are admitted again', { timeout }, () => {
  fc.assert(
    fc.property(plans, (plan) => {
      const pressed = { ...plan, callsPerSecond: Math.max(5, (4 * plan.max) / plan.windowSeconds) };
      const { admitted } = playWorld(pressed);
      // Grants that were never reported expire with the first window.
      const later = admitted.filter(({ at }) => at > plan.healsAtMs + (plan.windowSeconds + 4) * 1_000).length;
      expect(later).toBeGreaterThanOrEqual(plan.max);
    }),
    options(0.4),
  );
});

/** Returns how many calls one window that saw every call would admit. */
function steppedWindow({ calls }: { readonly calls: readonly number[] }, { max, windowSeconds }: WorldPlan): number {
  const window = new Window(windowSeconds);
  let admitted = 0;
  for (const at of calls) {
    if (window.used(stepOf(at)) >= max) continue;
    window.add(stepOf(at));
    admitted += 1;
  }
  return admitted;
}

test('where nothing fails, several sidecars admit what one window would, to 1 %', { timeout }, () => {
  let ours = 0;
  let theirs = 0;
  for (const holders of [1, 2, 3, 5]) {
    for (const pressure of [0.5, 1.2, 5]) {
      const plan = {
        seed: holders,
        holders,
        windowSeconds: 60,
        max: 120,
        callsPerSecond: 2 * pressure,
        faults: noFaults,
        healsAtMs: 0,
        endsAtMs: 900_000,
      };
      const told = playWorld(plan);
      const wanted = steppedWindow(told, plan);
      expect(crowdedWindow(told, plan.windowSeconds)).toBeNull();
      ours += told.admitted.length;
      theirs += wanted;
    }
  }
  expect(ours).toBeGreaterThanOrEqual(theirs * 0.99);
});

test('at human pace a sidecar asks about once a second, also where several share the last calls', () => {
  const asksPerSecond = (plan: Pick<WorldPlan, 'holders' | 'max' | 'callsPerSecond'>): number => {
    const seconds = 300;
    const told = playWorld({ ...plan, seed: 7, windowSeconds: 60, faults: noFaults, healsAtMs: 0, endsAtMs: seconds * 1_000 });
    return told.messages / seconds / plan.holders;
  };
  expect(asksPerSecond({ holders: 1, max: 60, callsPerSecond: 0.2 })).toBeLessThan(1.3);
  expect(asksPerSecond({ holders: 3, max: 10, callsPerSecond: 0.6 })).toBeLessThan(1.3);
  expect(asksPerSecond({ holders: 10, max: 60, callsPerSecond: 2 })).toBeLessThan(1.6);
});

test('a wrong model is detected: a grant used after its lifetime crowds a window, and so does a grant of a higher limit', () => {
  const admitted = (max: number, ...times: readonly number[]) => ({ admitted: times.map((at) => ({ at, max })) });
  expect(crowdedWindow(admitted(3, 0, 500, 900, 1_500), 2)).toBe('4 calls from 0 ms on, where 3 may be');
  expect(crowdedWindow(admitted(3, 0, 500, 900, 2_000), 2)).toBeNull();
  const raised = [...admitted(3, 0, 500, 900).admitted, ...admitted(4, 1_500).admitted];
  expect(crowdedWindow({ admitted: raised }, 2)).toBeNull();
  expect(crowdedWindow({ admitted: [...raised, ...admitted(3, 1_700).admitted] }, 2)).toBe('5 calls from 0 ms on, where 4 may be');
});
