// Shows what a change of policies would do, for people: each document, and in it each changed place with its old and
// new value.
import { type Row, rowsIn, textIn } from '../api/answer.ts';
import { safeJson } from '../print/escape.ts';
import type { Paint } from '../print/print.ts';
import { shown } from '../print/table.ts';

/** Returns the changes as lines for people. `answer`: from `policies/apply` or `rollback`. */
export function diffLines(answer: Row, paint: Paint): readonly string[] {
  const changes = rowsIn(answer, 'changes').flatMap((change) => documentLines(change, paint));
  return [
    ...changes,
    ...noted(answer, 'overrides', paint.yellow('exceptions that still loosen what is tightened here:'), 'rule'),
    ...noted(answer, 'warnings', paint.yellow('warnings:'), 'message'),
  ];
}

/** Lines for what an answer notes about places of documents. */
function noted(answer: Row, list: 'overrides' | 'warnings', title: string, field: string): readonly string[] {
  const rows = answer[list] === undefined ? [] : rowsIn(answer, list);
  const line = (row: Row): string => `    ${shown(row['document'])} ${shown(row['path'])}: ${shown(row[field])}`;
  return rows.length === 0 ? [] : [title, ...rows.map(line)];
}

export const differs = (answer: Row): boolean => rowsIn(answer, 'changes').length > 0;

function documentLines(change: Row, paint: Paint): readonly string[] {
  const name = escaped(textIn(change, 'document'));
  const paths = rowsIn(change, 'paths').map((place) => pathLine(place, paint));
  switch (change['action']) {
    case 'create':
      return [paint.green(`+ ${name}`), ...paths];
    case 'delete':
      return [paint.red(`- ${name}`), ...paths];
    default:
      return [paint.yellow(`~ ${name}`), ...paths];
  }
}

function pathLine(place: Row, paint: Paint): string {
  const before = 'before' in place ? paint.red(safeJson(place['before'])) : paint.dim('unset');
  const after = 'after' in place ? paint.green(safeJson(place['after'])) : paint.dim('unset');
  return `    ${escaped(textIn(place, 'path'))}: ${before} → ${after}`;
}

const escaped = (text: string): string => shown(text);
