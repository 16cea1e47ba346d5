// Checks that the scorer counts what is left of a value, what was removed with it, and what was changed without need.
import { expect, test } from 'vitest';
import type { Negative, Positive } from './corpus.ts';
import { replaceRanges } from './libraries.ts';
import { damageOf, recallOf, scoreRows } from './score.ts';
import { linesOf, renderScores } from './table.ts';

const positive = (text: string, values: readonly string[], isJson = false): Positive => ({
  id: 'a-0001',
  kind: 'secret',
  in: 'log',
  text,
  values,
  isJson,
});
const scored = async (row: Positive, output: string) => (await scoreRows([row], () => output)).positives[0];

const text = 'token s3cr3t-Aa9b8c7d for bob, then again s3cr3t-Aa9b8c7d.';
const values = ['s3cr3t-Aa9b8c7d'];

test.each([
  ['all of it', 'token [redacted:secret#1] for bob, then again [redacted:secret#1].', 1, false],
  ['more than it', 'token [redacted:secret#1] bob, then again [redacted:secret#1].', 1, true],
  ['only one of its places', 'token [redacted:secret#1] for bob, then again s3cr3t-Aa9b8c7d.', 0, false],
  ['only a part of it', 'token [redacted:secret#1]9b8c7d for bob, then again [redacted:secret#1].', 0, false],
  ['nothing', text, 0, false],
  ['everything', '[redacted:over_budget]', 1, true],
  ['it, and the text was rewritten', 'Token [redacted:secret#1] for Bob, then again [redacted:secret#1].', 1, true],
])('the scorer scores a redactor that removed %s', async (_what, output, gone, isExcess) => {
  expect(await scored(positive(text, values), output)).toMatchObject({ gone, isExcess });
});

test('the scorer looks for a value in keys, strings, numbers and JSON in strings, with and without escapes', async () => {
  const value = { 'k\n9f8e7d6c': 1, card: 4111111111111111, nested: JSON.stringify({ in: 'é"9f8e7d6c', n: 4111111111111111 }) };
  const row = positive(JSON.stringify(value), ['k\n9f8e7d6c', '4111111111111111', 'é\\"9f8e7d6c'], true);
  const clean = { '[redacted:a#1]': 1, card: '[redacted:b#1]', nested: JSON.stringify({ in: '[redacted:a#2]', n: '[redacted:b#1]' }) };
  expect(await scored(row, JSON.stringify(clean))).toMatchObject({ gone: 3, isExcess: false });
  expect(await scored(row, JSON.stringify({ ...clean, card: value.card }))).toMatchObject({ gone: 2 });
  expect(await scored(row, JSON.stringify({ ...clean, nested: value.nested }))).toMatchObject({ gone: 1 });
  expect(await scored(row, row.text.replace('k\\n9f8e7d6c', '[redacted:a#1]'))).toMatchObject({ gone: 1, isExcess: false });
});

test('the scorer does not look for a value inside a longer word elsewhere', async () => {
  const row = positive('10.1.2.3 is not 10.1.2.34', ['10.1.2.3']);
  expect(await scored(row, '[redacted:ip_address#1] is not 10.1.2.34')).toMatchObject({ gone: 1, isExcess: false });
});

test('recall counts values, damage counts rows, and the table shows both', async () => {
  const negative: Negative = { id: 'b-0001', like: 'uuid', in: 'log', text: 'a b', isJson: false };
  const rows = [positive('x 11111111 22222222', ['11111111', '22222222']), negative, { ...negative, id: 'b-0002', text: 'c d' }];
  const score = await scoreRows(rows, (row) => row.text.replace('11111111', '[redacted:secret]').replace('a b', 'a'));
  expect(recallOf(score)).toEqual({ rows: 1, values: 2, gone: 1, recall: 0.5, excess: 0 });
  expect(damageOf(score)).toEqual({ rows: 2, damaged: 1, damage: 0.5 });
  expect(renderScores([{ name: 'ours', lines: linesOf(score) }])).toBe(
    [
      '                 rows        ours',
      'secrets by name     1  50.0 % (0)',
      '  secret            1  50.0 % (0)',
      'look-alikes         2      50.0 %',
      '  uuid              2      50.0 %',
    ].join('\n'),
  );
});

test('overlapping ranges become one mark', () => {
  expect(
    replaceRanges('abcdefgh', [
      [4, 6],
      [1, 3],
      [2, 5],
    ]),
  ).toBe('a[redacted:found]gh');
});
