// Draws rows as a table without lines, at most as wide as the terminal. In a narrower terminal, the widest text wraps.
import { escapeText, safeJson } from './escape.ts';
import type { Row } from '../api/answer.ts';

export interface Column {
  readonly head: string;
  readonly of: (row: Row) => unknown;
}

const gap = 2;
/** The width that a narrowed text keeps while another column can be narrowed. */
const readable = 20;
const narrowest = 8;
const wide = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}]/gu;

/** `width`: the width of the terminal; null when the output is not a terminal, and nothing wraps. */
export async function drawTable(
  rows: readonly Row[],
  columns: readonly Column[],
  { width, bold }: { readonly width: number | null; readonly bold: (text: string) => string },
): Promise<string> {
  const { default: Table } = await import('cli-table3');
  const heads = columns.map(({ head }) => head);
  const cells = rows.map((row) => columns.map(({ of }) => toSecond(shown(of(row)))));
  const natural = heads.map((head, at) => Math.max(cellsOf(head), ...cells.map((row) => cellsOf(row[at] ?? ''))));
  const given = heads.map((head, at) => ({
    head: cellsOf(head),
    natural: natural[at] ?? 0,
    isText: cells.some((row) => / /.test((row[at] ?? '').replace(shortForm, ''))),
  }));
  const widths = width === null ? natural : fit(given, width - gap * (heads.length - 1));
  const table = new Table({
    head: heads,
    // The last column needs no gap after it.
    colWidths: widths.map((one) => one + gap),
    chars: blank,
    style: { 'padding-left': 0, 'padding-right': gap, head: [], border: [], compact: true },
  });
  table.push(...cells.map((row) => row.map((cell, at) => wrap(cell, widths[at] ?? 0))));
  const [head = '', ...lines] = table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd());
  // The colour is added afterwards, because wrapping would count its codes.
  return [bold(head), ...lines].join('\n');
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

const cellsOf = (text: string): number => Array.from(text).length + (text.match(wide)?.length ?? 0);

interface Given {
  readonly head: number;
  readonly natural: number;
  /** A cell contains words, between which it can wrap. */
  readonly isText: boolean;
}

/** Narrows the widest text first, so that names and times stay on one line as long as possible. Heads always do. */
function fit(columns: readonly Given[], width: number): readonly number[] {
  const widths = columns.map(({ natural }) => natural);
  const order = columns
    .map((column, at) => ({ ...column, at }))
    .toSorted((a, b) => Number(b.isText) - Number(a.isText) || b.natural - a.natural);
  let over = widths.reduce((a, b) => a + b, 0) - width;
  for (const least of [readable, narrowest])
    for (const { at, head } of order) {
      const one = widths[at] ?? 0;
      const taken = Math.max(0, Math.min(over, one - Math.max(head, least)));
      widths[at] = one - taken;
      over -= taken;
    }
  return widths;
}

/** Returns lines of at most `width`, broken at spaces. A longer word is cut. */
function wrap(text: string, width: number): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (cellsOf(longer) <= width) {
      line = longer;
      continue;
    }
    if (line !== '') lines.push(line);
    line = '';
    for (const character of word) {
      if (line !== '' && cellsOf(line + character) > width) {
        lines.push(line);
        line = '';
      }
      line += character;
    }
  }
  return [...lines, line].join('\n');
}

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
  middle: '',
} as const;
