// Draws rows as a table without lines, at most as wide as the terminal. In a narrower terminal, the widest text wraps.
// The printer imports it at the first table.
import cellsOf from 'fast-string-width';
import type { Row } from '../api/answer.ts';
import { shortForm, shown, toSecond } from './cell.ts';

export interface Column {
  readonly head: string;
  readonly of: (row: Row) => unknown;
}

const gap = 2;
/** The width that a narrowed text keeps while another column can be narrowed. */
const readable = 20;
const narrowest = 8;

/** `width`: the width of the terminal; null when the output is not a terminal, and nothing wraps. */
export function drawTable(
  rows: readonly Row[],
  columns: readonly Column[],
  { width, bold }: { readonly width: number | null; readonly bold: (text: string) => string },
): string {
  const heads = columns.map(({ head }) => head);
  const cells = rows.map((row) => columns.map(({ of }) => toSecond(shown(of(row)))));
  const natural = heads.map((head, at) => Math.max(cellsOf(head), ...cells.map((row) => cellsOf(row[at] ?? ''))));
  const given = heads.map((head, at) => ({
    head: cellsOf(head),
    natural: natural[at] ?? 0,
    isText: cells.some((row) => / /.test((row[at] ?? '').replace(shortForm, ''))),
  }));
  const widths = width === null ? natural : fit(given, width - gap * (heads.length - 1));
  const [head = '', ...lines] = [heads, ...cells].flatMap((row) => drawRow(row, widths));
  // The colour is added afterwards, because wrapping would count its codes.
  return [bold(head), ...lines].join('\n');
}

/** The lines of one row, as many as its tallest cell needs. */
function drawRow(cells: readonly string[], widths: readonly number[]): readonly string[] {
  const wrapped = cells.map((cell, at) => wrap(cell, widths[at] ?? 0));
  return Array.from({ length: Math.max(...wrapped.map(({ length }) => length)) }, (_, line) =>
    wrapped
      .map((lines, at) => pad(lines[line] ?? '', (widths[at] ?? 0) + gap))
      .join('')
      .trimEnd(),
  );
}

const pad = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - cellsOf(text)));

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
function wrap(text: string, width: number): readonly string[] {
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
  return [...lines, line];
}
