// Rows as a table without lines, as wide as the terminal at most: where it is narrower, the widest columns wrap.
import { escapeText, safeJson } from './escape.ts';
import type { Row } from './answer.ts';

export interface Column {
  readonly head: string;
  readonly of: (row: Row) => unknown;
}

const gap = 2;
const narrowest = 8;
const wide = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}]/gu;

/** `width`: of the terminal; null where the output is no terminal, and nothing wraps. */
export async function drawTable(
  rows: readonly Row[],
  columns: readonly Column[],
  { width, bold }: { readonly width: number | null; readonly bold: (text: string) => string },
): Promise<string> {
  const { default: Table } = await import('cli-table3');
  const heads = columns.map(({ head }) => head);
  const cells = rows.map((row) => columns.map(({ of }) => shown(of(row))));
  const least = heads.map((head) => Math.max(narrowest, cellsOf(head)) + gap);
  const natural = heads.map((head, at) => Math.max(...[head, ...cells.map((row) => row[at] ?? '')].map(cellsOf)) + gap);
  const table = new Table({
    head: heads,
    // The last column needs no gap behind it.
    colWidths: width === null ? natural : fit(natural, least, width + gap),
    chars: blank,
    style: { 'padding-left': 0, 'padding-right': gap, head: [], border: [], compact: true },
    wordWrap: true,
    wrapOnWordBoundary: false,
  });
  table.push(...cells);
  const [head = '', ...lines] = table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd());
  // Painted afterwards: what wraps would count the codes.
  return [bold(head), ...lines].join('\n');
}

/** A cell of ours: escaped, a list joined, an object as JSON, nothing for null. */
export function shown(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(shown).join(', ');
  return typeof value === 'string' ? escapeText(value) : safeJson(value);
}

const cellsOf = (text: string): number => Array.from(text).length + (text.match(wide)?.length ?? 0);

/** Takes from the widest that can give, so that heads stay on one line. */
function fit(natural: readonly number[], least: readonly number[], width: number): number[] {
  const widths = [...natural];
  for (let sum = widths.reduce((a, b) => a + b, 0); sum > width; sum--) {
    const widest = Math.max(...widths.filter((one, at) => one > (least[at] ?? 0)));
    const at = widths.findIndex((one, index) => one === widest && one > (least[index] ?? 0));
    if (at < 0) break;
    widths[at] = widest - 1;
  }
  return widths;
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
