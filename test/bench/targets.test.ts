// Checks that the numbers that the bench judges by are those that the design's rows state.
import { expect, test } from 'vitest';
import { rows, targets } from './targets.ts';

/** The number that a part of a row states; a percentage as a share; 1 where it states "as good as". */
function numberIn(shown: string): number {
  const found = /(\d+(?:\.\d+)?)( %)?/.exec(shown);
  return found === null ? 1 : Number(found[1]) / (found[2] === undefined ? 1 : 100);
}

test.each(Object.entries(targets))('the target %s is what its row states', (_id, { row, shown, value, bound }) => {
  expect(rows[row]).toContain(shown);
  expect(numberIn(shown)).toBe(value);
  if (/[≤≥<]/.test(shown)) expect(shown.includes('≥')).toBe(bound === 'at least');
});

test('every row has a target', () => {
  expect(new Set(Object.values(targets).map(({ row }) => row))).toEqual(new Set(Object.keys(rows)));
});
