// Passwords and secrets of `INSERT INTO users (name, password) VALUES ('mira', '…')`: the columns name what stands at the
// same place of each row.
import type { Detector, Found } from '../../detector.ts';
import { type ValuesOf, valuesOfKind } from './columns.ts';

const reach = { before: 0, after: 4_096 };
const columnsMax = 64;
const anotherOne = /(?:insert|replace) into/i;
const columnsThen = /\s{1,4}[\w."`[\]]{1,80}\s{0,4}\(([^()'\n]{1,1024}|[^()']{1,1024})\)\s{0,8}VALUES\s{0,8}(?=\()/iy;
const string = /(?:[NE]|\\)?'((?:[^'\\]|''|\\[^'])*)\\?'/y;
// A number, a name, a call without strings in it.
const other = /[^',()\n]{0,64}(?:\([^'()\n]{0,64}\))?/y;
const comma = /\s{0,8},\s{0,8}/y;
const opening = /\s{0,8}\(\s{0,4}/y;

function insertDetector(kind: 'password' | 'secret'): Detector {
  const valuesOf = valuesOfKind(kind);
  return {
    kind,
    anchors: ['insert into', 'replace into'],
    reach,
    find: (text, at, end, found) => {
      // Up to the next of them, so that each part is looked through once.
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
        findRows(wanted, window, columnsThen.lastIndex, (start, stop) => found(end + start, end + stop));
    },
  };
}

function findRows(wanted: readonly ReturnType<ValuesOf>[], text: string, from: number, found: Found): void {
  for (let at = endOf(opening, text, from); at !== -1; ) {
    for (const [column, isValue] of wanted.entries()) {
      string.lastIndex = at;
      const value = string.exec(text)?.[1];
      const end = value === undefined ? endOf(other, text, at) : string.lastIndex;
      if (end === -1) return;
      const start = value === undefined ? at : text.indexOf("'", at) + 1;
      if (value !== undefined && isValue?.(value) === true) found(start, start + value.length);
      if (column === wanted.length - 1) at = end;
      else at = endOf(comma, text, end);
      if (at === -1) return;
    }
    const closed = endOf(/\s{0,4}\)/y, text, at);
    const next = closed === -1 ? -1 : endOf(comma, text, closed);
    at = next === -1 ? -1 : endOf(opening, text, next);
  }
}

function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : -1;
}

export const insertedPassword: Detector = insertDetector('password');
export const insertedSecret: Detector = insertDetector('secret');
