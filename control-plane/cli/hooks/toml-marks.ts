// Our comments in the settings of Codex: behind the header of a table of ours, and in versions before 2026-11 around all of them.
import { isRow } from '../answer.ts';
import { isBlank, linesOf, newlineOf, parseToml, says, saidBy } from './toml.ts';

export const headMark = ' # of tollgate: `tollgate hooks uninstall codex` takes it out';

export const isMarkedHeader = (line: string): boolean => line.trimEnd().endsWith(headMark);

const firstMark = '# >>> tollgate: `tollgate hooks uninstall codex` removes this block';
const ownLines: readonly string[] = [firstMark, '# <<< tollgate', headMark.trim()];

/** Without those that stand alone, and those at a table that is not `ours`. */
export function withoutMarks(text: string, isOurs: (table: unknown) => boolean): string {
  let lines = linesOf(text);
  // From below: what is above stays where it is.
  for (const [at, line] of [...lines.entries()].toReversed()) {
    // Where a table of ours stays behind the mark, the blank line before is that of the table from now on.
    if (ownLines.includes(line.trim()))
      lines = provenOr(lines, isOurs(tableAt(lines, at + 1)) ? lines.toSpliced(at, 1) : withoutLine(lines, at));
    else if (isMarkedHeader(line) && !isOurs(tableAt(lines, at))) lines = provenOr(lines, withoutTail(lines, at));
  }
  return lines.join('');
}

/** What looks like a comment may be inside a longer text. */
const provenOr = (lines: readonly string[], without: readonly string[]): readonly string[] =>
  says(without.join(''), parseToml(lines.join(''))) ? without : lines;

/** With the blank line that was put before the first. */
function withoutLine(lines: readonly string[], at: number): readonly string[] {
  const isFirst = lines[at]?.trim() === firstMark;
  const before = isFirst && isBlank(lines[at - 1]) ? at - 1 : at;
  const behind = isFirst && at === 0 && isBlank(lines[1]) ? 2 : at + 1;
  return [...lines.slice(0, before), ...lines.slice(behind)];
}

const withoutTail = (lines: readonly string[], at: number): readonly string[] =>
  lines.with(at, (lines[at] ?? '').replace(headMark, '').replace(/[ \t]+(?=\r?\n?$)/, ''));

const probe = 'tollgate_probe';

/** The table of a list of hooks that the line begins: the one that says what is put behind it. */
function tableAt(lines: readonly string[], at: number): unknown {
  const line = lines[at] ?? '';
  const probed = [...lines.slice(0, at), line, line.endsWith('\n') ? '' : '\n', `${probe} = 1`, newlineOf(line), ...lines.slice(at + 1)];
  const hooks = saidBy(probed.join(''))?.['hooks'];
  return Object.values(isRow(hooks) ? hooks : {})
    .flat()
    .find((table) => isRow(table) && probe in table);
}
