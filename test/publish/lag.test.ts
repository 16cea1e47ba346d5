// How far behind sidecars are, as metrics count them.
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
] as const)('what is held as %j counts, where %j is the newest, as %s behind', (held, newest, lag) => {
  expect(lagOf(held, newest)).toBe(lag);
});

test('a sidecar that holds more than there is, after a backup was put back, is not counted as current', () => {
  expect(lagOf(at(9), at(7))).toBe('nothing');
});
