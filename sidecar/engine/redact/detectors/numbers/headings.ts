// Finds the heading of the column that contains a number, in a table with one row per line. Cells are separated by a
// character, or by several blanks.

export interface Heading {
  readonly start: number;
  readonly end: number;
}

const rowReach = 160;
// The maximum distance to the heading of the table.
const tableReach = 512;

/** Returns where the line begins: after a line break, or after a written `\n`. */
export function lineStart(text: string, at: number, reach: number): number {
  const floor = Math.max(0, at - reach);
  let start = at;
  while (start > floor && !endsLine(text, start)) start -= 1;
  return start;
}

function endsLine(text: string, at: number): boolean {
  const code = text.charCodeAt(at - 1);
  return code === 10 || (code === 110 && text.charCodeAt(at - 2) === 92);
}

/**
 * Returns the cells above the cell that contains `start`, beginning with the one furthest above. One of these cells may
 * be the heading of the column.
 */
export function* cellsAbove(text: string, start: number, reach = tableReach): Generator<Heading> {
  const separator = separatorBefore(text, start);
  if (separator === null) return;
  const line = lineStart(text, start, rowReach);
  if (!endsLine(text, line)) return;
  let column = 0;
  for (let at = line; at < start; at++) if (endsCell(text, at, separator)) column += 1;
  let cell = 0;
  let cellStart = Math.max(0, start - reach);
  for (let at = cellStart; at < line; at++) {
    const code = text.charCodeAt(at);
    const isLineEnd = (code === 10 || code === 110) && endsLine(text, at + 1);
    if (!isLineEnd && (code !== separator || !endsCell(text, at, separator))) continue;
    if (cell === column) yield { start: cellStart, end: at };
    cell = isLineEnd ? 0 : cell + 1;
    cellStart = at + 1;
  }
}

/** Returns the code of the separator before the cell: a character, or several blanks. Null: there is none. */
function separatorBefore(text: string, start: number): number | null {
  let at = start - 1;
  if ('"\'`*'.includes(text.charAt(at))) at -= 1;
  if (text[at] === ' ' && text[at - 1] !== ' ') at -= 1;
  const character = text.charAt(at);
  return character !== '' && ',;|\t '.includes(character) ? text.charCodeAt(at) : null;
}

const blank = 32;
const endsCell = (text: string, at: number, separator: number): boolean =>
  text.charCodeAt(at) === separator && (separator !== blank || (text.charCodeAt(at - 1) === blank && text.charCodeAt(at + 1) !== blank));
