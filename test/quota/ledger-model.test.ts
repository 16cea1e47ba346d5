// Tests the ledger against a bad network, in virtual time. `TOLLGATE_TEST_CASES` sets the number of cases.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { CounterSettings } from '../../control-plane/quota/rules/ledger.ts';
import { createNetwork, mostInWindow, type Step } from './network.ts';

const numRuns = Math.max(1_000, Math.floor(Number(process.env['TOLLGATE_TEST_CASES'] ?? 0) / 10));
const seed = process.env['TOLLGATE_TEST_SEED'];
const parameters = { numRuns, ...(seed === undefined ? {} : { seed: Number(seed) }) };

const who = fc.nat({ max: 2 });
const of = (kind: Step['kind'], amount: fc.Arbitrary<number>): fc.Arbitrary<Step> => fc.record({ kind: fc.constant(kind), who, amount });
const small = fc.nat({ max: 60 });

const traffic = [
  { weight: 100, arbitrary: of('serve', small) },
  { weight: 30, arbitrary: of('ask', small) },
  { weight: 40, arbitrary: of('deliver', small) },
  { weight: 40, arbitrary: of('answer', small) },
  { weight: 120, arbitrary: of('call', small) },
  { weight: 50, arbitrary: of('wait', fc.oneof(fc.nat({ max: 60 }), fc.nat({ max: 1_500 }), fc.constantFrom(999, 1_000, 4_999, 5_000))) },
  { weight: 5, arbitrary: of('crash', small) },
  { weight: 10, arbitrary: of('maintain', small) },
  // After this time a spent row may be removed.
  { weight: 2, arbitrary: of('wait', fc.constant(3_700_000)) },
];
const steps = (...more: readonly { readonly weight: number; readonly arbitrary: fc.Arbitrary<Step> }[]): fc.Arbitrary<readonly Step[]> =>
  fc.array(fc.oneof(...traffic, ...more), { minLength: 20, maxLength: 150, size: 'max' });

const windowSeconds = 5;
const stepBack = { weight: 10, arbitrary: of('stepBack', fc.nat({ max: 20_000 })) };

test('no window of real time contains more calls than the limit, whatever is lost, late, doubled, reordered, or dies', () => {
  let admitted = 0;
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 12 }), steps(stepBack), (max, all) => {
      const network = createNetwork({ sidecars: 3, settings: { kind: 'window', windowSeconds, max } });
      network.play(all);
      admitted += network.calls.length;
      expect(mostInWindow(network.calls, windowSeconds)).toBeLessThanOrEqual(max);
    }),
    parameters,
  );
  // The network loses messages, but some calls must still be admitted.
  expect(admitted / numRuns).toBeGreaterThan(3);
});

const forging = { weight: 60, arbitrary: of('forge', small) };

test('no limit and no cap is exceeded where a hostile sidecar knows all readable ids, and sends false reports', () => {
  let admitted = 0;
  fc.assert(
    fc.property(fc.constantFrom('window', 'total'), fc.integer({ min: 0, max: 30 }), steps(stepBack, forging), (kind, max, all) => {
      const settings: CounterSettings = kind === 'window' ? { kind, windowSeconds, max } : { kind, max };
      const network = createNetwork({ sidecars: 3, settings });
      network.play(all);
      admitted += network.calls.length;
      expect(kind === 'window' ? mostInWindow(network.calls, windowSeconds) : network.calls.length).toBeLessThanOrEqual(max);
    }),
    parameters,
  );
  expect(admitted / numRuns).toBeGreaterThan(3);
});

test('a run makes no more calls than its cap, however many sidecars serve it', () => {
  let admitted = 0;
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 30 }), steps(), (max, all) => {
      const network = createNetwork({ sidecars: 3, settings: { kind: 'total', max } });
      network.play(all);
      admitted += network.calls.length;
      expect(network.calls.length).toBeLessThanOrEqual(max);
    }),
    parameters,
  );
  expect(admitted / numRuns).toBeGreaterThan(3);
});

test('a limit that is lowered grants nothing until the charged and granted calls fit under it', () => {
  const settings: CounterSettings = { kind: 'window', windowSeconds, max: 12 };
  let granted = 0;
  fc.assert(
    fc.property(steps(stepBack, { weight: 20, arbitrary: of('limit', small) }), (all) => {
      const network = createNetwork({ sidecars: 3, settings });
      network.play(all);
      granted += network.grants.length;
      for (const { after, max } of network.grants) expect(after).toBeLessThanOrEqual(max);
    }),
    parameters,
  );
  expect(granted).toBeGreaterThan(numRuns);
});
