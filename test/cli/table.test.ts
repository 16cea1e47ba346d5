import { expect, test } from 'vitest';
import { drawTable } from '../../cli/print/table.ts';

const columns = ['at', 'name', 'reason'].map((head) => ({ head, of: (row: Readonly<Record<string, unknown>>) => row[head] }));
const rows = [
  { at: '2026-11-21T15:33:32.123Z', name: 'github.create_issue', reason: 'policy_denied: the role denies this tool' },
  { at: '2026-11-21T15:33:31.000Z', name: 'b', reason: 'allowed' },
];
const draw = (width: number | null) => drawTable(rows, columns, { width, bold: (text) => text });

test('in a wide terminal each row is one line, its time to the second', async () => {
  expect(await draw(null)).toBe(
    [
      'at                    name                 reason',
      '2026-11-21 15:33:32Z  github.create_issue  policy_denied: the role denies this tool',
      '2026-11-21 15:33:31Z  b                    allowed',
    ].join('\n'),
  );
  expect(await draw(200)).toBe(await draw(null));
});

test('in a narrow terminal only the widest text wraps, between words', async () => {
  expect(await draw(66)).toBe(
    [
      'at                    name                 reason',
      '2026-11-21 15:33:32Z  github.create_issue  policy_denied: the role',
      '                                           denies this tool',
      '2026-11-21 15:33:31Z  b                    allowed',
    ].join('\n'),
  );
});

test('in an even narrower terminal no line is wider than it, and no character is lost', async () => {
  const drawn = await draw(40);
  expect(Math.max(...drawn.split('\n').map((line) => line.length))).toBeLessThanOrEqual(40);
  for (const row of rows)
    for (const word of [row.name, row.reason.replaceAll(' ', '')]) for (const letter of word) expect(drawn).toContain(letter);
});
