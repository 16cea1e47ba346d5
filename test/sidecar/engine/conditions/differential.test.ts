// Compares conditions with two other evaluators of CEL over generated expressions and inputs: `@bufbuild/cel`, and in
// `npm run test:long` cel-go. `TOLLGATE_TEST_CASES` sets the number of cases, `TOLLGATE_TEST_SEED` repeats a failure.
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { celGo } from './cel-go.ts';
import { isAnswerable, libraryOf, oursOf } from './differential.ts';
import { type GeneratedCase, generatedCase } from './generate.ts';

const numRuns = Math.max(2_000, Math.floor(Number(process.env['TOLLGATE_TEST_CASES'] ?? 0) / 10));
const timeout = Math.max(60_000, numRuns * 5);
const seed = process.env['TOLLGATE_TEST_SEED'];
const parameters = { numRuns, ...(seed === undefined ? {} : { seed: Number(seed) }) };

test('as CEL has it, conditions say what @bufbuild/cel says, or are refused when they are written', { timeout }, () => {
  const counted = { refused: 0, value: 0, error: 0, skipped: 0 };
  fc.assert(
    fc.property(generatedCase, (generated) => {
      const ours = oursOf(generated);
      if (ours === null) {
        counted.refused += 1;
        return;
      }
      counted[ours.plain === 'error' ? 'error' : 'value'] += 1;
      if (!isAnswerable(generated)) {
        counted.skipped += 1;
        return;
      }
      expect(ours.plain).toBe(libraryOf(generated));
    }),
    parameters,
  );
  // The generators must not make only expressions that say nothing.
  expect(counted.value / numRuns).toBeGreaterThan(0.25);
  expect(counted.error / numRuns).toBeGreaterThan(0.1);
  expect(counted.refused / numRuns).toBeLessThan(0.3);
  expect(counted.skipped / numRuns).toBeLessThan(0.15);
});

test('the two deviations make a result undecided or decided, and never another value', { timeout }, () => {
  const counted = { same: 0, undecided: 0, computed: 0 };
  fc.assert(
    fc.property(generatedCase, (generated) => {
      const ours = oursOf(generated);
      if (ours === null) return;
      const { plain, strict } = ours;
      if (plain === strict) counted.same += 1;
      else if (strict === 'error') counted.undecided += 1;
      else if (plain === 'error') counted.computed += 1;
      else expect(strict).toBe(plain);
    }),
    parameters,
  );
  expect(counted.undecided).toBeGreaterThan(numRuns / 100);
  expect(counted.computed).toBeGreaterThan(numRuns / 1_000);
});

if (process.env['TOLLGATE_TEST_CEL_GO'] !== undefined) {
  const program = celGo();
  afterAll(() => program.close());

  test('as CEL has it, conditions say what cel-go says, or are refused when they are written', { timeout }, () => {
    const all: GeneratedCase[] = fc.sample(generatedCase, parameters);
    const cases = all.flatMap((generated) => {
      const ours = oursOf(generated);
      return ours === null ? [] : [{ generated, ours: ours.plain }];
    });
    const said = program.evaluate(cases.map(({ generated }) => generated));
    expect(said).toHaveLength(cases.length);
    const differences = cases.flatMap(({ generated, ours }, at) =>
      said[at] === ours ? [] : [`${generated.expression} of ${JSON.stringify(generated.args)} is ${ours} here, and ${said[at]} in cel-go`],
    );
    expect(differences).toEqual([]);
    expect(cases.length / all.length).toBeGreaterThan(0.6);
  });
}
