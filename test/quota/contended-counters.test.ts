// Which counters have calls that wait elsewhere. The ledger gives nothing of them in advance.
import { expect, test } from 'vitest';
import { ContendedCounters } from '../../control-plane/quota/operations/contended-counters.ts';

test('a counter is contended for all holders but the one that waits, until it got its calls or 500 ms have passed', () => {
  let now = 0;
  const contended = new ContendedCounters(() => now);
  expect(contended.othersWaiting('limit', 'a')).toBe(0);
  contended.note('limit', 'a', true);
  expect(contended.othersWaiting('limit', 'a')).toBe(0);
  expect(contended.othersWaiting('limit', 'b')).toBe(1);
  expect(contended.othersWaiting('other', 'b')).toBe(0);
  contended.note('limit', 'b', true);
  expect(contended.othersWaiting('limit', 'a')).toBe(1);
  contended.note('limit', 'b', false);
  expect(contended.othersWaiting('limit', 'a')).toBe(0);
  now = 499;
  expect(contended.othersWaiting('limit', 'b')).toBe(1);
  now = 500;
  expect(contended.othersWaiting('limit', 'b')).toBe(0);
});

test('at most 10,000 waiting holders are remembered', () => {
  const contended = new ContendedCounters(() => 0);
  for (let at = 0; at < 10_000; at += 1) contended.note('limit', `holder-${at}`, true);
  contended.note('limit', 'holder-0', true);
  expect(contended.othersWaiting('limit', 'another')).toBe(10_000);
  contended.note('one more', 'holder', true);
  expect(contended.othersWaiting('limit', 'another')).toBe(0);
  expect(contended.othersWaiting('one more', 'another')).toBe(1);
});
