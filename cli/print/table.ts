// Draws rows as a table without border lines, at most as wide as the terminal. In a narrower terminal, the widest text
// wraps.
import { escapeText, safeJson } from './escape.ts';
import type { Row } from '../api/answer.ts';

export interface Column {
  readonly head: string;
  readonly of: (row: Row) => unknown;
}

const gap = '  ';
/** Separates the columns while cli-table3 draws. Cells are escaped, so that none contains it. */
const separator = '\t';
/** A text column is not made narrower than this width while another column can still be narrowed. */
const readable = 20;
const narrowest = 8;
/** A time wraps between its day and its hour before an id breaks, which people copy. */
const dayWidth = 10;

interface Look {
  /** The width of the terminal; null: the output is not a terminal, so nothing wraps. */
  readonly width: number | null;
  readonly bold: (text: string) => string;
  /** Returns the lines below a row, which the caller has escaped and broken at the width. */
  readonly below?: ((row: Row) => readonly string[]) | undefined;
}

export async function drawTable(
  rows: readonly Row[],
  columns: readonly Column[],
  { width, bold, below = () => [] }: Look,
): Promise<string> {
  const { default: Table } = await import('cli-table3');
  const heads = columns.map(({ head }) => head);
  const cells = rows.map((row) => columns.map(({ of }) => toSecond(shown(of(row)))));
  const draw = (texts: readonly (readonly string[])[], colWidths: readonly number[] = []): readonly string[] => {
    const table = new Table({
      head: heads,
      colWidths: [...colWidths],
      wordWrap: colWidths.length > 0,
      chars: { ...blank, middle: separator },
      style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [], compact: true },
    });
    table.push(...texts.map((row) => [...row]));
    return table.toString().split('\n');
  };
  const drawn = draw(cells);
  // Heads are ASCII, so each character takes one cell. Therefore the padded length of a head is the width that
  // cli-table3 gave the column.
  const given = (drawn[0] ?? '').split(separator).map((padded, at) => ({
    head: heads[at]?.length ?? 0,
    natural: padded.length,
    isText: cells.some((row) => / /.test((row[at] ?? '').replace(shortForm, ''))),
    isTime: cells.every((row) => (row[at] ?? '') === '' || shortForm.test(row[at] ?? '')),
  }));
  const needed = given.reduce((sum, { natural }) => sum + natural, gap.length * (given.length - 1));
  // A cell has no line end, so a row that does not wrap is one line.
  const blocks = width === null || needed <= width ? drawn.map((line) => [line]) : narrow(width);
  const [head = '', ...lines] = blocks.flatMap((block, at) => {
    const row = rows[at - 1];
    return [...block.map((line) => line.replaceAll(separator, gap).trimEnd()), ...(row === undefined ? [] : below(row))];
  });
  // The colour is added after the text was wrapped, because the wrapping would count the codes of the colour as
  // characters.
  return [bold(head), ...lines].join('\n');

  /** Returns the lines of the head and of each row. */
  function narrow(most: number): readonly (readonly string[])[] {
    const widths = fit(given, most - gap.length * (given.length - 1));
    const broken = cells.map((row) => row.map((cell, at) => breakWords(cell, widths[at] ?? 0)));
    return [draw([], widths), ...broken.map((row) => draw([row], widths).slice(1))];
  }
}

/** Formats a cell: text is escaped, a list is joined, an object is JSON, null is empty. */
export function shown(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(shown).join(', ');
  return typeof value === 'string' ? escapeText(value) : safeJson(value);
}

const shortForm = /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}Z$/;

/** Shortens a time of the server to the second; `--json` shows all of it. */
export const toSecond = (text: string): string => text.replace(/^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})\.\d{3}Z$/, '$1 $2Z');

interface Given {
  readonly head: number;
  readonly natural: number;
  /** Whether a cell of this column contains several words, between which it can wrap. */
  readonly isText: boolean;
  /** Whether each cell of this column is a time of the server. */
  readonly isTime: boolean;
}

/**
 * Returns the width of each column, because cli-table3 does not know the width of the terminal. The widest text is
 * narrowed first, so that names and times stay on one line as long as possible. Heads always stay on one line.
 */
function fit(columns: readonly Given[], width: number): readonly number[] {
  const widths = columns.map(({ natural }) => natural);
  const order = columns
    .map((column, at) => ({ ...column, at }))
    .toSorted((a, b) => Number(b.isText) - Number(a.isText) || b.natural - a.natural);
  let over = widths.reduce((a, b) => a + b, 0) - width;
  for (const { least, only } of [
    { least: readable, only: order },
    { least: dayWidth, only: order.filter(({ isTime }) => isTime) },
    { least: narrowest, only: order },
  ])
    for (const { at, head } of only) {
      const one = widths[at] ?? 0;
      const taken = Math.max(0, Math.min(over, one - Math.max(head, least)));
      widths[at] = one - taken;
      over -= taken;
    }
  return widths;
}

/** Breaks long words. cli-table3 wraps only between words, and would cut a word that is longer than its column. */
const breakWords = (text: string, width: number): string => text.replaceAll(/\S+/g, (word) => broken(word, width));

function broken(word: string, width: number): string {
  let [lines, used] = ['', 0];
  for (const character of word) {
    const cells = cellsOf(character);
    if (used > 0 && used + cells > width) [lines, used] = [`${lines}\n`, 0];
    lines += character;
    used += cells;
  }
  return lines;
}

/**
 * Returns the maximum width of a character in a terminal. Characters of scripts after the European ones may take two
 * cells.
 */
export const cellsOf = (character: string): number => (character > '\u10ff' ? 2 : 1);

const blank = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
} as const;
