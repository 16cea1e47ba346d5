// How old the oldest unacknowledged record is, by marks that are bounded.
import { expect, test } from 'vitest';
import { createAges } from '../../../../sidecar/engine/spool/ages.ts';

const marksMax = 256;

test('of 10,000 records that nobody acknowledges 256 have a mark: beyond, the answer is too old, never too young', () => {
  const ages = createAges();
  for (let sequence = 1; sequence <= 10_000; sequence++) ages.mark(sequence, sequence * 10);
  for (const acknowledged of [0, 1, 100, marksMax - 1]) {
    ages.acknowledge(acknowledged);
    expect(ages.oldestAt()).toBe((acknowledged + 1) * 10);
  }
  // The record after it was appended at 99,990; the last mark says less.
  ages.acknowledge(9_998);
  expect(ages.oldestAt()).toBe(marksMax * 10);
});

test('what is acknowledged makes room for marks', () => {
  const ages = createAges();
  for (let sequence = 1; sequence <= 1_000; sequence++) ages.mark(sequence, sequence * 10);
  ages.acknowledge(1_000);
  ages.mark(1_001, 10_010);
  expect(ages.oldestAt()).toBe(10_010);
});
