// Which counters have calls that wait elsewhere. The ledger gives nothing of them in advance.
import { expect, test } from 'vitest';
import { ContendedCounters } from '../../control-plane/quota/operations/contended-counters.ts';

test('a counter is contended for all holders but the one that waits, until it got its calls or 500 ms have passed', () => {
  let now = 0;
  const contended = new ContendedCounters(() => now);
  expect(contended.isContended('limit', 'a')).toBe(false);
  contended.answered('limit', 'a', true);
  expect(contended.isContended('limit', 'a')).toBe(false);
  expect(contended.isContended('limit', 'b')).toBe(true);
  expect(contended.isContended('other', 'b')).toBe(false);
  contended.answered('limit', 'b', true);
  expect(contended.isContended('limit', 'a')).toBe(true);
  contended.answered('limit', 'b', false);
  expect(contended.isContended('limit', 'a')).toBe(false);
  now = 499;
  expect(contended.isContended('limit', 'b')).toBe(true);
  now = 500;
  expect(contended.isContended('limit', 'b')).toBe(false);
});

test('at most 10,000 waiting holders are remembered', () => {
  const contended = new ContendedCounters(() => 0);
  for (let at = 0; at < 10_000; at += 1) contended.answered('limit', `holder-${at}`, true);
  contended.answered('limit', 'holder-0', true);
  expect(contended.isContended('limit', 'another')).toBe(true);
  contended.answered('one more', 'holder', true);
  expect(contended.isContended('limit', 'another')).toBe(false);
  expect(contended.isContended('one more', 'another')).toBe(true);
});
