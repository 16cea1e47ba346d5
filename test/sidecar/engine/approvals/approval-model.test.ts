// Tests asked calls against a bad network, in virtual time. `TOLLGATE_TEST_CASES` sets the number of cases.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createApprovalNetwork, type Step } from './approval-network.ts';

const numRuns = Math.max(200, Math.floor(Number(process.env['TOLLGATE_TEST_CASES'] ?? 0) / 100));
const seed = process.env['TOLLGATE_TEST_SEED'];
const parameters = { numRuns, ...(seed === undefined ? {} : { seed: Number(seed) }) };

const who = fc.nat({ max: 1 });
const of = (kind: Step['kind'], amount: fc.Arbitrary<number> = fc.nat({ max: 9 })): fc.Arbitrary<Step> =>
  fc.record({ kind: fc.constant(kind), who, amount });

const step = fc.oneof(
  { weight: 40, arbitrary: of('call') },
  { weight: 30, arbitrary: of('approve') },
  { weight: 30, arbitrary: of('wait', fc.oneof(fc.nat({ max: 400 }), fc.nat({ max: 5_000 }))) },
  { weight: 20, arbitrary: of('cut') },
  { weight: 1, arbitrary: of('kill') },
  { weight: 3, arbitrary: of('deny') },
  { weight: 2, arbitrary: of('cancel') },
  { weight: 2, arbitrary: of('deny in policy') },
  { weight: 3, arbitrary: of('allow in policy') },
  { weight: 3, arbitrary: of('lose permit') },
);

/** A generator of numbers from 0 to 1 (mulberry32). */
function randomFrom(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

test('no approval is used more often than it allows, and each call gets an answer, whatever is late, doubled, cut or killed', async () => {
  let made = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 3 }),
      fc.nat(),
      fc.boolean(),
      fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }),
      async (uses, random, doubles, all) => {
        const network = createApprovalNetwork({ uses, random: randomFrom(random), doubles });
        await network.play(all);
        made += network.made.length;
        for (const { id } of network.ledger.rows) expect(network.made.filter((of) => of === id).length).toBeLessThanOrEqual(uses);
        expect(network.made).not.toContain('none');
        expect(network.calls.answered).toBe(network.calls.asked);
        // A use that was given back is not lost: only a killed process may leave one behind.
        if (!doubles && !all.some(({ kind }) => kind === 'kill'))
          for (const row of network.ledger.rows) expect(network.ledger.usesOf(row)).toBe(network.made.filter((of) => of === row.id).length);
      },
    ),
    parameters,
  );
  // Calls must still be made: between 1.7 and 2.6 of them in a case, as samples of 200 cases have shown.
  expect(made / numRuns).toBeGreaterThan(1);
}, 120_000);
