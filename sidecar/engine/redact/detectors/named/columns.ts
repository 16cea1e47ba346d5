// Finds passwords and secrets in table columns whose header names them: CSV with any delimiter, and tables of Markdown.
// A column is followed as long as it has findings, so each row is read once. In a stream, it is followed only within
// the rows that are held back.
import type { Detector, MatchReporter } from '../../detector.ts';
import { continues } from './name-span.ts';
import { passwordHeads, secretHeads } from './name-words.ts';
import { isPasswordValue, isSecretValue, isStrongPassword } from './named-value.ts';
import { calledBy } from './names.ts';

export const columnReach = { before: 512, after: 640 };
const headerLengthMax = 512;
const lineLengthMax = 2_048;
// The number of rows without a finding after which a column is given up. Such rows are rules under headers, empty cells
// and masked cells.
const missesMax = 6;
// The rest of a line, `missesMax` lines without a finding, and the line with the next finding.
export const columnFollows = (missesMax + 2) * lineLengthMax;

export const passwordColumn: Detector = {
  kind: 'password',
  anchors: passwordHeads,
  reach: columnReach,
  follows: columnFollows,
  find: (text, at, end, found) => findColumn(passwords, text, at, end, found),
};

export const secretColumn: Detector = {
  kind: 'secret',
  anchors: [...secretHeads, 'key'],
  reach: columnReach,
  follows: columnFollows,
  find: (text, at, end, found) => findColumn(secrets, text, at, end, found),
};

const passwordLengthMin = 4;

/**
 * Returns whether a value in a column is a password. Plain words do not count, because a list of words in a program has
 * the form of a table too. `wald.Lauf88` is a password here, although it is treated as code outside of columns.
 */
const isChosen = (value: string): boolean =>
  isStrongPassword(value, passwordLengthMin) || (/^[\p{L}.]+\d+$/u.test(value) && isPasswordValue(value));

interface Cell {
  readonly start: number;
  readonly end: number;
}

/** Returns the test for values in a column with this heading. Null: the column has no passwords or secrets. */
export type ValuesOf = (heading: string) => ((value: string) => boolean) | null;

export const valuesOfKind =
  (kind: 'password' | 'secret', isPassword: (value: string) => boolean): ValuesOf =>
  (heading) => {
    const { kind: called, vague } = calledBy(heading);
    if (called !== kind) return null;
    return (value) => (kind === 'password' ? !/\s/.test(value) && isPassword(value) : isSecretValue(value, vague ? 24 : 8));
  };

const passwords = valuesOfKind('password', isChosen);
const secrets = valuesOfKind('secret', isChosen);

/** Finds the values below a heading that contains an anchor, and below the other relevant headings of its line. */
export function findColumn(valuesOf: ValuesOf, text: string, at: number, end: number, found: MatchReporter): void {
  if (continues(text, end)) return;
  const delimiter = delimiterAfter(text, end) ?? delimiterBefore(text, at);
  if (delimiter === null) return;
  const lineStart = lineStartBefore(text, at);
  if (lineStart === null || isAskedBefore(valuesOf, text, lineStart, at, end, delimiter)) return;
  const lineEnd = lineEndAfter(text, end);
  if (lineEnd === null) return;
  const header = cellsOf(text, lineStart, lineEnd, delimiter);
  const column = header.findIndex((cell) => cell.start <= at && end <= cell.end);
  const cell = header[column];
  if (cell === undefined || isList(header, delimiter) || !header.every((one) => isHeading(text.slice(one.start, one.end)))) return;
  if (valuesOf(text.slice(cell.start, cell.end)) === null) return;
  const columns = header.flatMap(({ start, end }, at): readonly Column[] => {
    const isValue = valuesOf(text.slice(start, end));
    return isValue === null ? [] : [{ at, isValue }];
  });
  followColumns(text, lineEnd, { delimiter, columns, count: header.length }, valuesOf, found);
}

/**
 * Returns whether the same anchor occurs earlier in the line, in a relevant heading. In that case, all columns were
 * already followed when the detector was called at that earlier anchor.
 */
function isAskedBefore(valuesOf: ValuesOf, text: string, lineStart: number, at: number, end: number, delimiter: string): boolean {
  const anchor = text.slice(at, end);
  const first = text.indexOf(anchor, lineStart);
  if (first === at) return false;
  const before = text.slice(lineStart, first).lastIndexOf(delimiter);
  const length = text.slice(first, at).indexOf(delimiter);
  const cell = bareCell(text, before === -1 ? lineStart : lineStart + before + delimiter.length, first + length);
  return length !== -1 && valuesOf(text.slice(cell.start, cell.end)) !== null;
}

/**
 * Returns whether the cells are a list of words and no table: each word is alone on its line, or has a comma after it.
 */
const isList = (header: readonly Cell[], delimiter: string): boolean => {
  const isEmpty = ({ start, end }: Cell): boolean => start === end;
  return header.filter((cell) => !isEmpty(cell)).length < 2 || (delimiter === ',' && header.slice(-1).every(isEmpty));
};

/**
 * Returns whether a cell can be a heading: words, and not numbers or code. A cell at the edge of a table may be empty.
 */
function isHeading(text: string): boolean {
  let letters = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if ((code >= 97 && code <= 122) || (code >= 65 && code <= 90) || code >= 0xc0) letters += 1;
    else if (!(code >= 48 && code <= 57) && !' _.:#/?*-'.includes(text.charAt(at))) return false;
  }
  return text === '' || (letters > 0 && text.length <= 48);
}

interface Column {
  readonly at: number;
  readonly isValue: (value: string) => boolean;
}

interface Shape {
  readonly delimiter: string;
  readonly columns: readonly Column[];
  readonly count: number;
}

/** Follows all columns together, because a detector is not called again at a position before its last finding. */
function followColumns(text: string, from: number, { delimiter, columns, count }: Shape, valuesOf: ValuesOf, found: MatchReporter): void {
  let misses = 0;
  for (let line = afterLine(text, from); line !== null && misses < missesMax; ) {
    const end = lineEndAfter(text, line);
    if (end === null) return;
    const cells = cellsOf(text, line, end, delimiter);
    misses += 1;
    if (cells.length === count)
      for (const { at, isValue } of columns) {
        const { start, end: stop } = cells[at] ?? { start: end, end };
        const value = text.slice(start, stop);
        // This row is another header. The detector is called separately for it.
        if (isHead(value.slice(0, 64), valuesOf)) return;
        if (!isValue(value)) continue;
        found(start, stop);
        misses = 0;
      }
    line = afterLine(text, end);
  }
}

const isHead = (value: string, valuesOf: ValuesOf): boolean =>
  calledBy(value).kind !== null || (value !== '' && !/\d/.test(value) && valuesOf(value) !== null);

// Matches the rest of the heading without backtracking.
const delimiterThere = /(?=([\w.-]{0,24}))\1["'`* ]{0,8}(,|;|\||\t|\\t)/y;

function delimiterAfter(text: string, end: number): string | null {
  delimiterThere.lastIndex = end;
  return delimiterThere.exec(text)?.[2] ?? null;
}

const headingMax = 24;

function delimiterBefore(text: string, start: number): string | null {
  let at = start - 1;
  while (at > start - headingMax && isHeadingCode(text.charCodeAt(at))) at -= 1;
  return at >= 0 && ',;|\t'.includes(text.charAt(at)) ? text.charAt(at) : null;
}

/** Returns whether the character may be in a heading: letters, digits, and ` "'*._-` and the backquote. */
const isHeadingCode = (code: number): boolean =>
  (code >= 97 && code <= 122) ||
  (code >= 65 && code <= 90) ||
  (code >= 48 && code <= 57) ||
  ' "\'*._-`'.includes(String.fromCharCode(code));

/** Returns where the line begins: after `\n`, or after a written `\n`. Null: it begins too far before `at`. */
function lineStartBefore(text: string, at: number): number | null {
  const from = Math.max(0, at - headerLengthMax);
  const before = text.slice(from, at);
  const start = Math.max(before.lastIndexOf('\n') + 1, before.lastIndexOf('\\n') + 2);
  return start > 1 || before.startsWith('\n') ? from + start : from === 0 ? 0 : null;
}

function lineEndAfter(text: string, at: number): number | null {
  const after = text.slice(at, at + lineLengthMax);
  const end = after.search(/\n|\\n/);
  if (end !== -1) return at + end;
  return after.length < lineLengthMax ? text.length : null;
}

const afterLine = (text: string, end: number): number | null => {
  if (end >= text.length) return null;
  return end + (text[end] === '\n' ? 1 : 2);
};

/** Returns the text between the delimiters of a line, without surrounding blanks and quotes. */
function cellsOf(text: string, start: number, end: number, delimiter: string): readonly Cell[] {
  const cells: Cell[] = [];
  let from = start;
  let quote = '';
  for (let at = start; at <= end; at++) {
    const here = text.charAt(at);
    if (at < end && quote !== '') {
      if (here === quote) quote = '';
    } else if (at < end && (here === '"' || here === '`') && /^[\s\\]*$/.test(text.slice(from, Math.min(at, from + 8))) && at - from < 8)
      quote = here;
    else if (at === end || text.startsWith(delimiter, at)) {
      cells.push(bareCell(text, from, at));
      from = at + delimiter.length;
    }
  }
  return cells;
}

function bareCell(text: string, start: number, end: number): Cell {
  let from = start;
  let to = end;
  while (from < to && ' \t\r"\'`*\\'.includes(text.charAt(from))) from += 1;
  while (to > from && ' \t\r"\'`*\\'.includes(text.charAt(to - 1))) to -= 1;
  return { start: from, end: to };
}
