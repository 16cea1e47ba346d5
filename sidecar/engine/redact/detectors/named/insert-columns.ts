// Finds passwords and secrets in `INSERT INTO users (name, password) VALUES ('mira', '…')`. The column list contains
// the names. In each row, the value at the same position belongs to the name.
import type { Detector, MatchReporter } from '../../detector.ts';
import { type ValuesOf, valuesOfKind } from './columns.ts';
import { isPasswordValue } from './named-value.ts';

const reach = { before: 0, after: 4_096 };
const rowLengthMax = reach.after;
// The number of rows without a finding after which the other rows are not read.
const missesMax = 8;
const columnsMax = 64;
const anotherOne = /(?:insert|replace) into/i;
const columnsThen = /\s{1,4}[\w."`[\]]{1,80}\s{0,4}\(([^()'\n]{1,1024}|[^()']{1,1024})\)\s{0,8}VALUES\s{0,8}(?=\()/iy;
const string = /(?:[NE]|\\)?'((?:[^'\\]|''|\\[^'])*)\\?'/y;
// A value that is not a string: a number, a name, or a call without strings in it.
const other = /[^',()\n]{0,64}(?:\([^'()\n]{0,64}\))?/y;
const comma = /\s{0,8},\s{0,8}/y;
const closing = /\s{0,4}\)/y;
const opening = /\s{0,8}\(\s{0,4}/y;

function insertDetector(kind: 'password' | 'secret'): Detector {
  const valuesOf = valuesOfKind(kind, isPasswordValue);
  return {
    kind,
    anchors: ['insert into', 'replace into'],
    reach,
    // A database dump may have many rows, far beyond `reach`.
    follows: (missesMax + 1) * rowLengthMax,
    find: (text, at, end, found) => {
      // Reads up to the next statement, so that each part is read once.
      const ahead = text.slice(end, at + reach.after);
      const next = ahead.search(anotherOne);
      const window = next === -1 ? ahead : ahead.slice(0, next);
      columnsThen.lastIndex = 0;
      const columns = columnsThen
        .exec(window)?.[1]
        ?.split(',')
        .map((name) => name.replaceAll(/[\s"`[\]\\]/g, ''));
      if (columns === undefined || columns.length > columnsMax) return;
      const wanted = columns.map(valuesOf);
      if (wanted.some((one) => one !== null))
        findRows(wanted, text, { from: end + columnsThen.lastIndex, until: end + window.length }, found);
    },
  };
}

type WantedValues = readonly ReturnType<ValuesOf>[];

/**
 * Reads the rows and reports their findings. At first, only rows before the position `until` are read. After a finding,
 * this limit does not apply any more: the following rows are read as long as there are findings.
 */
function findRows(
  wanted: WantedValues,
  text: string,
  { from, until }: { readonly from: number; readonly until: number },
  found: MatchReporter,
): void {
  let misses = 0;
  let limit = until;
  for (let at = from; misses < missesMax; ) {
    misses += 1;
    const length = readRow(wanted, text.slice(at, Math.min(at + rowLengthMax, limit)), (start, stop) => {
      found(at + start, at + stop);
      misses = 0;
      limit = text.length;
    });
    if (length === -1) return;
    at += length;
  }
}

/**
 * Reads one row and reports its findings. Returns the length of the row plus the length of the text between it and the
 * next row. Returns -1 if the row is the last.
 */
function readRow(wanted: WantedValues, row: string, found: MatchReporter): number {
  let at = endOf(opening, row, 0);
  for (const [column, isValue] of wanted.entries()) {
    if (at === -1) return -1;
    string.lastIndex = at;
    const value = string.exec(row)?.[1];
    const end = value === undefined ? endOf(other, row, at) : string.lastIndex;
    if (end === -1) return -1;
    const start = value === undefined ? at : row.indexOf("'", at) + 1;
    if (value !== undefined && isValue?.(value) === true) found(start, start + value.length);
    at = column === wanted.length - 1 ? end : endOf(comma, row, end);
  }
  const closed = at === -1 ? -1 : endOf(closing, row, at);
  return closed === -1 ? -1 : endOf(comma, row, closed);
}

function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : -1;
}

export const insertedPassword: Detector = insertDetector('password');
export const insertedSecret: Detector = insertDetector('secret');
