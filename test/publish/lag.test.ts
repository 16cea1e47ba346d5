// How far behind sidecars are, as the metrics count them.
import { expect, test } from 'vitest';
import { lagOf } from '../../control-plane/sidecars/rules/sidecar.ts';

const at = (number: number, epoch = 'e') => ({ epoch, number });

test.each([
  [at(7), at(7), '0'],
  [at(6), at(7), '1'],
  [at(3), at(7), '2-9'],
  [at(1), at(40), '10+'],
  [null, at(7), 'nothing'],
  [at(7, 'another'), at(7), 'nothing'],
  [at(7), null, '0'],
] as const)('a sidecar that holds %j counts, where %j is the newest, as %s behind', (held, newest, lag) => {
  expect(lagOf(held, newest)).toBe(lag);
});

test('a sidecar that holds more than the newest revision, after a backup was restored, does not count as current', () => {
  expect(lagOf(at(9), at(7))).toBe('nothing');
});
