// What is remembered of the forms in which numbers were written.
import { expect, test } from 'vitest';
import { isWrittenAsAtHome } from '../../../../sidecar/engine/redact/detectors/numbers/phone-plans.ts';
import { collectGarbage } from '../../../bench/garbage.ts';

/**
 * A form of 1,000 groups, more than any real number has. Each stored form takes 2 KB, so the memory can be measured.
 */
const longShape = (n: number): readonly number[] => [3, ...Array.from({ length: 999 }, (_, bit) => (bit < 13 ? 1 + ((n >> bit) & 1) : 1))];

test('of 5,000 forms of a number 500 are stored', () => {
  const isKnown = (): boolean => isWrittenAsAtHome('02079460018', [3, 4, 4]);
  expect(isKnown()).toBe(true);
  const before = collectGarbage();
  for (let n = 0; n < 5_000; n += 1) isWrittenAsAtHome('07777777777', longShape(n));
  // All of them would take 10 MB.
  expect(collectGarbage() - before).toBeLessThan(4_000_000);
  expect(isKnown()).toBe(true);
});

test('an evicted form is looked up again', () => {
  for (let again = 0; again < 2; again += 1) {
    expect(isWrittenAsAtHome('02079460018', [3, 4, 4])).toBe(true);
    expect(isWrittenAsAtHome('02079460018', [5, 3, 3])).toBe(false);
    for (let n = 0; n < 501; n += 1) isWrittenAsAtHome('07777777777', longShape(n));
  }
});
