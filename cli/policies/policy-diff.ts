// Shows what a change of policies would do, for people: each document, and in it each changed place with its old and
// new value.
import { isDeepStrictEqual } from 'node:util';
import { isRow, type Row, rowsIn, textIn } from '../api/answer.ts';
import { safeJson } from '../print/escape.ts';
import type { Paint } from '../print/print.ts';
import { shown } from '../print/table.ts';

/** Returns the changes as lines for people. `answer`: from `policies/apply` or `rollback`. */
export function diffLines(answer: Row, paint: Paint): readonly string[] {
  const changes = rowsIn(answer, 'changes').flatMap((change) => documentLines(change, paint));
  return [
    ...changes,
    ...noted(answer, 'overrides', paint.yellow('exceptions that still loosen what is tightened here:'), 'rule'),
    ...passedLines(answer, paint),
    ...noted(answer, 'warnings', paint.yellow('warnings:'), 'message'),
  ];
}

/** Lines for what an answer notes about places of documents. */
function noted(answer: Row, list: 'overrides' | 'warnings', title: string, field: string): readonly string[] {
  const rows = answer[list] === undefined ? [] : rowsIn(answer, list);
  const line = (row: Row): string => `    ${shown(row['document'])} ${shown(row['path'])}: ${shown(row[field])}`;
  return rows.length === 0 ? [] : [title, ...rows.map(line)];
}

/** Lines for the cases that a more specific key passes by. */
function passedLines(answer: Row, paint: Paint): readonly string[] {
  const rows = answer['passedBy'] === undefined ? [] : rowsIn(answer, 'passedBy');
  const line = ({ document, path, cases, by, fields }: Row): string =>
    `    ${shown(document)} ${shown(by)} sets ${shown(fields)}: not ${shown(cases)} of ${shown(path)}`;
  return rows.length === 0 ? [] : [paint.yellow('cases that a more specific key passes by:'), ...rows.map(line)];
}

export const differs = (answer: Row): boolean => rowsIn(answer, 'changes').length > 0;

function documentLines(change: Row, paint: Paint): readonly string[] {
  const name = escaped(textIn(change, 'document'));
  const paths = rowsIn(change, 'paths').flatMap((place) => pathLines(place, paint));
  switch (change['action']) {
    case 'create':
      return [paint.green(`+ ${name}`), ...paths];
    case 'delete':
      return [paint.red(`- ${name}`), ...paths];
    default:
      return [paint.yellow(`~ ${name}`), ...paths];
  }
}

function pathLines(place: Row, paint: Paint): readonly string[] {
  const path = escaped(textIn(place, 'path'));
  const [before, after] = [casesOf(place, 'before'), casesOf(place, 'after')];
  if (!path.endsWith('.cases') || before === null || after === null) return [valueLine(path, place, paint)];
  return caseLines(path, before, after, paint);
}

function valueLine(path: string, place: Row, paint: Paint): string {
  const before = 'before' in place ? paint.red(safeJson(place['before'])) : paint.dim('unset');
  const after = 'after' in place ? paint.green(safeJson(place['after'])) : paint.dim('unset');
  return `    ${path}: ${before} → ${after}`;
}

/** The cases of a rule by their names. Null: the value has another form. */
function casesOf(place: Row, side: 'before' | 'after'): ReadonlyMap<string, Row> | null {
  const value = place[side] ?? [];
  if (!Array.isArray(value)) return null;
  const named = value.flatMap((one: unknown) => (isRow(one) && typeof one['name'] === 'string' ? [[one['name'], one] as const] : []));
  const cases = new Map(named);
  return cases.size === value.length ? cases : null;
}

/** Shows each changed case on a line of its own. The order is shown too if a case is not only added at the end or removed. */
function caseLines(path: string, before: ReadonlyMap<string, Row>, after: ReadonlyMap<string, Row>, paint: Paint): readonly string[] {
  const side = (one: Row | undefined, colour: (text: string) => string): string => {
    if (one === undefined) return paint.dim('unset');
    const { name: _, ...content } = one;
    return colour(safeJson(content));
  };
  const lines = [...new Set([...after.keys(), ...before.keys()])].flatMap((name) => {
    const [old, now] = [before.get(name), after.get(name)];
    return isDeepStrictEqual(old, now) ? [] : [`    ${path}[${safeJson(name)}]: ${side(old, paint.red)} → ${side(now, paint.green)}`];
  });
  const usual = [...[...before.keys()].filter((name) => after.has(name)), ...[...after.keys()].filter((name) => !before.has(name))];
  if (isDeepStrictEqual([...after.keys()], usual)) return lines;
  const order = (cases: ReadonlyMap<string, Row>): string => [...cases.keys()].map((name) => safeJson(name)).join(', ');
  return [...lines, `    ${path}: order ${paint.red(order(before))} → ${paint.green(order(after))}`];
}

const escaped = (text: string): string => shown(text);
