// The age of the oldest unacknowledged record, from a bounded number of marks.
import { expect, test } from 'vitest';
import { createAges } from '../../../../sidecar/engine/spool/ages.ts';

const marksMax = 256;

test('of 10,000 unacknowledged records 256 have a mark: beyond these, the answer is too old, never too young', () => {
  const ages = createAges();
  for (let sequence = 1; sequence <= 10_000; sequence++) ages.mark(sequence, sequence * 10);
  for (const acknowledged of [0, 1, 100, marksMax - 1]) {
    ages.acknowledge(acknowledged);
    expect(ages.oldestAt()).toBe((acknowledged + 1) * 10);
  }
  // The record after it was appended at 99,990. The last mark has an earlier time.
  ages.acknowledge(9_998);
  expect(ages.oldestAt()).toBe(marksMax * 10);
});

test('acknowledged records free their marks', () => {
  const ages = createAges();
  for (let sequence = 1; sequence <= 1_000; sequence++) ages.mark(sequence, sequence * 10);
  ages.acknowledge(1_000);
  ages.mark(1_001, 10_010);
  expect(ages.oldestAt()).toBe(10_010);
});
