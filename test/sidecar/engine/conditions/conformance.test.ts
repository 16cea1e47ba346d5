// Tests conditions with the conformance cases of the CEL project, and that the documentation shows the result.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { conformanceTable, runConformance } from './conformance.ts';

const files = runConformance();
const results = files.flatMap((file) => file.results);

test('no case of the CEL project has a wrong value', () => {
  const wrong = files.flatMap(({ file, results }) =>
    results.filter(({ outcome }) => outcome === 'wrong').map(({ expression, why }) => `${file}: ${expression} ${why}`),
  );
  expect(wrong).toEqual([]);
  expect(results.length).toBeGreaterThan(2_000);
});

test('what conditions lack is refused when it is written, and not undecided at each call', () => {
  expect(results.filter(({ outcome }) => outcome === 'undecided').map(({ expression, why }) => `${expression} ${why}`)).toEqual([]);
});

test('the reference shows this result', () => {
  const page = readFileSync(new URL('../../../../docs/reference/conditions.md', import.meta.url), 'utf8');
  expect(page).toContain(`<!-- conformance -->\n${conformanceTable(files)}\n<!-- end -->`);
});
