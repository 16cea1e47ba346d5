import { expect, test } from 'vitest';
import { drawTable } from '../../cli/print/table.ts';

const columns = ['at', 'name', 'reason'].map((head) => ({ head, of: (row: Readonly<Record<string, unknown>>) => row[head] }));
const rows = [
  { at: '2026-11-21T15:33:32.123Z', name: 'github.create_issue', reason: 'policy_denied: the role denies this tool' },
  { at: '2026-11-21T15:33:31.000Z', name: 'b', reason: 'allowed' },
];
const draw = (width: number | null) => drawTable(rows, columns, { width, bold: (text) => text });

test('in a wide terminal each row is one line, its time to the second', () => {
  expect(draw(null)).toBe(
    [
      'at                    name                 reason',
      '2026-11-21 15:33:32Z  github.create_issue  policy_denied: the role denies this tool',
      '2026-11-21 15:33:31Z  b                    allowed',
    ].join('\n'),
  );
  expect(draw(200)).toBe(draw(null));
});

test('in a narrow terminal only the widest text wraps, between words', () => {
  expect(draw(66)).toBe(
    [
      'at                    name                 reason',
      '2026-11-21 15:33:32Z  github.create_issue  policy_denied: the role',
      '                                           denies this tool',
      '2026-11-21 15:33:31Z  b                    allowed',
    ].join('\n'),
  );
});

test('in an even narrower terminal no line is wider than it, and no character is lost', () => {
  const drawn = draw(40);
  expect(Math.max(...drawn.split('\n').map((line) => line.length))).toBeLessThanOrEqual(40);
  for (const row of rows)
    for (const word of [row.name, row.reason.replaceAll(' ', '')]) for (const letter of word) expect(drawn).toContain(letter);
});

test('columns stay in line where characters are two cells wide, or none', () => {
  const names = ['数据.查询', 'e\u0301tat', '📦', 'b'];
  const drawn = drawTable(
    names.map((name) => ({ at: '1', name, reason: 'allowed' })),
    columns,
    { width: null, bold: (text) => text },
  );
  expect(drawn.split('\n')).toEqual([
    'at  name       reason',
    '1   数据.查询  allowed',
    '1   e\u0301tat       allowed',
    '1   📦         allowed',
    '1   b          allowed',
  ]);
});
