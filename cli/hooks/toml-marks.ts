// Our comments in the settings of Codex: after the header of a table of ours, and in versions before 2026-11 around all
// our tables.
import { isRow } from '../api/answer.ts';
import { isBlank, linesOf, newlineOf, parseToml, says, saidBy } from './toml.ts';

export const headMark = ' # of tollgate: `tollgate hooks uninstall codex` takes it out';

export const isMarkedHeader = (line: string): boolean => line.trimEnd().endsWith(headMark);

const firstMark = '# >>> tollgate: `tollgate hooks uninstall codex` removes this block';
const ownLines: readonly string[] = [firstMark, '# <<< tollgate', headMark.trim()];

/** Removes our comments that are on their own lines, and our comments at a table that is not `ours`. */
export function withoutMarks(text: string, isOurs: (table: unknown) => boolean): string {
  let lines = linesOf(text);
  // From the end, so that earlier positions stay valid.
  for (const [at, line] of [...lines.entries()].toReversed()) {
    // If a table of ours follows the mark, the blank line before the mark belongs to that table from now on.
    if (ownLines.includes(line.trim()))
      lines = provenOr(lines, isOurs(tableAt(lines, at + 1)) ? lines.toSpliced(at, 1) : withoutLine(lines, at));
    else if (isMarkedHeader(line) && !isOurs(tableAt(lines, at))) lines = provenOr(lines, withoutTail(lines, at));
  }
  return lines.join('');
}

/** Text that looks like a comment may be part of a longer string. */
const provenOr = (lines: readonly string[], without: readonly string[]): readonly string[] =>
  says(without.join(''), parseToml(lines.join(''))) ? without : lines;

/** Also removes the blank line that was added before the first mark. */
function withoutLine(lines: readonly string[], at: number): readonly string[] {
  const isFirst = lines[at]?.trim() === firstMark;
  const before = isFirst && isBlank(lines[at - 1]) ? at - 1 : at;
  const behind = isFirst && at === 0 && isBlank(lines[1]) ? 2 : at + 1;
  return [...lines.slice(0, before), ...lines.slice(behind)];
}

const withoutTail = (lines: readonly string[], at: number): readonly string[] =>
  lines.with(at, (lines[at] ?? '').replace(headMark, '').replace(/[ \t]+(?=\r?\n?$)/, ''));

const probe = 'tollgate_probe';

/**
 * Returns the table of a list of hooks that begins at the line: the table that contains a probe key inserted after the
 * line.
 */
function tableAt(lines: readonly string[], at: number): unknown {
  const line = lines[at] ?? '';
  const probed = [...lines.slice(0, at), line, line.endsWith('\n') ? '' : '\n', `${probe} = 1`, newlineOf(line), ...lines.slice(at + 1)];
  const hooks = saidBy(probed.join(''))?.['hooks'];
  return Object.values(isRow(hooks) ? hooks : {})
    .flat()
    .find((table) => isRow(table) && probe in table);
}
