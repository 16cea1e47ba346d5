// Reads settings in TOML with smol-toml, and edits their text in place.
//
// smol-toml gives no positions, and the text that it writes has no comments and another order. Therefore this file
// edits the text itself. It searches the span to remove or replace, and proves each candidate: smol-toml must read
// exactly the wanted content from the edited text. If no candidate is proven, the edit is rejected and nothing is
// written.
import { isDeepStrictEqual } from 'node:util';
import { parse, TomlError } from 'smol-toml';
import { isRow, type Row } from '../api/answer.ts';
import { statesIn } from './hook-places.ts';
import { BadSettings, unprovenEdit } from './settings-file.ts';

export function parseToml(text: string): Row {
  try {
    const value: unknown = parse(text, { integersAsBigInt: 'asNeeded' });
    return isRow(value) ? value : {};
  } catch (error) {
    if (error instanceof TomlError)
      throw new BadSettings(text, placeOf(text, error), `the file is not valid TOML: ${firstLine(error.message)}`);
    throw error;
  }
}

const firstLine = (message: string): string => (message.split('\n')[0] ?? '').replace(/^Invalid TOML document: /, '');

function placeOf(text: string, { line, column }: TomlError): number {
  const lines = text.split('\n').slice(0, line - 1);
  return lines.reduce((at, one) => at + one.length + 1, 0) + column - 1;
}

export const isToml = (text: string): boolean => saidBy(text) !== null;

function saidBy(text: string): Row | null {
  try {
    return parseToml(text);
  } catch (error) {
    if (error instanceof BadSettings) return null;
    throw error;
  }
}

/** Returns the lines with their line ends. */
export const linesOf = (text: string): readonly string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

/** Whether the text has the wanted content. An invalid text never has it. */
export const says = (text: string, wanted: Row): boolean => {
  const said = saidBy(text);
  return said !== null && isDeepStrictEqual(settled(said), settled(wanted));
};

/** Removes empty lists and tables below `hooks`. A header can create them, and they make no difference. */
function settled(root: Row): unknown {
  return plain({ ...root, hooks: pruned(root['hooks']) });
}

function pruned(value: unknown): unknown {
  if (!isRow(value)) return value;
  const kept = Object.entries(value)
    .map(([key, inner]) => [key, key === 'state' ? pruned(inner) : inner] as const)
    .filter(([, inner]) => inner !== undefined && !isEmpty(inner));
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

const isEmpty = (value: unknown): boolean => (Array.isArray(value) ? value.length === 0 : isRow(value) && Object.keys(value).length === 0);

/** Converts all objects to one kind, whatever library created them. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (!isRow(value) || value instanceof Date) return value;
  return new Map(Object.entries(value).flatMap(([key, inner]) => (inner === undefined ? [] : [[key, plain(inner)] as const])));
}

const byteOrderMark = '\uFEFF';

/** Edits the text after the byte order mark, if there is one. */
export const behindMark = (text: string, edit: (text: string) => string): string =>
  text.startsWith(byteOrderMark) ? byteOrderMark + edit(text.slice(1)) : edit(text);

type IsLine = (line: string) => boolean;

/** The maximum number of lines of a table. The end of a table is searched only in these lines. */
const linesMax = 200;

/**
 * Returns the text without one table. The removed lines start at a line for which `begins` is true. As few lines as
 * possible are removed, until the text has the content `wanted`. A blank line before them is removed too. At the
 * beginning of the text, the blank line after them is removed instead. The blank line stays if `sharesBlank` is true
 * for the line after the table. Null: there is no such table.
 */
export function withoutTable(
  text: string,
  { begins, wanted, sharesBlank = () => false }: { begins: IsLine; wanted: Row; sharesBlank?: IsLine },
): string | null {
  const lines = linesOf(text);
  const span = spanOfTable(lines, begins, (from, to) => says([...lines.slice(0, from), ...lines.slice(to)].join(''), wanted));
  if (span === null) return null;
  const [from, to] = span;
  return sharesBlank(lines[to] ?? '') ? [...lines.slice(0, from), ...lines.slice(to)].join('') : cut(lines, from, to);
}

/**
 * Returns the text with other lines in place of one table. The replaced lines start at a line for which `begins` is
 * true. As few lines as possible are replaced, until the text has the content `wanted`. Null: there is no such table.
 */
export function replaceTable(
  text: string,
  { begins, table, wanted }: { begins: (line: string) => boolean; table: readonly string[]; wanted: Row },
): string | null {
  const lines = linesOf(text);
  const newline = newlineOf(text);
  const replaced = (from: number, to: number): string => {
    const end = lines[to - 1]?.endsWith('\n') === false ? '' : newline;
    return [...lines.slice(0, from), table.join(newline), end, ...lines.slice(to)].join('');
  };
  const span = spanOfTable(lines, begins, (from, to) => says(replaced(from, to), wanted));
  return span === null ? null : replaced(...span);
}

export const newlineOf = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n');

type Span = readonly [from: number, to: number];

function spanOfTable(
  lines: readonly string[],
  begins: (line: string) => boolean,
  isProven: (from: number, to: number) => boolean,
): Span | null {
  // The search begins with the last line: of two spans with the same end, the one that begins later has fewer lines.
  for (const [from, line] of [...lines.entries()].toReversed()) {
    if (!begins(line)) continue;
    for (let to = from + 1; to <= Math.min(lines.length, from + linesMax); to++) {
      const next = lines[to];
      // A table can end only before a header, a comment, a blank line, or the end of the text.
      if (next !== undefined && !/^\s*(?:[[#]|$)/.test(next)) continue;
      if (isProven(from, to)) return [from, to];
    }
  }
  return null;
}

function cut(lines: readonly string[], from: number, to: number): string {
  const before = isBlank(lines[from - 1]) ? lines.slice(0, from - 1) : lines.slice(0, from);
  const after = from === 0 && isBlank(lines[to]) ? lines.slice(to + 1) : lines.slice(to);
  const left = [...before, ...after].join('');
  // If our table is at the end of the text and has no newline after it, the text had no newline at its end before our
  // table was added.
  return to === lines.length && lines[to - 1]?.endsWith('\n') === false ? left.replace(/\r?\n$/, '') : left;
}

export const isBlank = (line: string | undefined): boolean => line !== undefined && line.trim() === '';

// Removes or replaces a hook of ours that is written inline, such as `PreToolUse = [{ hooks = [{ type = "command", … }]
// }]`. To remove it, a pair of brackets around the command is removed, with the comma that joins it.

/**
 * The maximum number of brackets that are tried on each side of the command. Our command is inside fewer brackets than
 * this.
 */
const pairsMax = 12;

export function withoutInline(text: string, command: string, wanted: Row): string | null {
  for (const [from, to] of bracesAround(text, command))
    for (const [start, end] of withComma(text, from, to)) {
      const left = text.slice(0, start) + text.slice(end);
      if (says(left, wanted)) return left;
    }
  return null;
}

/**
 * Replaces the inline table around our command by `table`, so that the text has the content `wanted`. Null: no
 * replacement is proven.
 */
export function replaceInline(text: string, { command, table, wanted }: { command: string; table: string; wanted: Row }): string | null {
  for (const [from, to] of bracesAround(text, command)) {
    const replaced = text.slice(0, from) + table + text.slice(to);
    if (says(replaced, wanted)) return replaced;
  }
  return null;
}

const bracesAround = (text: string, command: string): readonly (readonly [from: number, to: number])[] =>
  placesOfCommand(text, command).flatMap((at) =>
    bracketsBefore(text, at).flatMap((from) => bracketsBehind(text, at).map((to) => [from, to] as const)),
  );

/**
 * Returns the offsets in the text of the words around `hook` in the command. These words are the same in every way of
 * quoting.
 */
function placesOfCommand(text: string, command: string): readonly number[] {
  const words = /[\w-]+ hook [\w-]+|hook [\w-]+/.exec(command)?.[0] ?? command;
  return [...text.matchAll(new RegExp(words.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'g'))].map(({ index }) => index).slice(0, pairsMax);
}

const bracketsBefore = (text: string, at: number): readonly number[] =>
  [...text.slice(0, at).matchAll(/\{/g)]
    .map(({ index }) => index)
    .toReversed()
    .slice(0, pairsMax);

const bracketsBehind = (text: string, at: number): readonly number[] =>
  [...text.slice(at).matchAll(/\}/g)].map(({ index }) => at + index + 1).slice(0, pairsMax);

/** Returns three spans: with the comma before, with the comma after, and without a comma. */
function withComma(text: string, from: number, to: number): readonly (readonly [number, number])[] {
  const before = /,\s*$/.exec(text.slice(0, from));
  const behind = /^\s*,\s*/.exec(text.slice(to));
  return [
    ...(before === null ? [] : [[before.index, to] as const]),
    ...(behind === null ? [] : [[from, to + behind[0].length] as const]),
    [from, to] as const,
  ];
}

// Marks are our comments in the file. They are after the header of each table of ours. Versions before 2026-11 also
// wrote them around all our tables.

export const headMark = ' # of tollgate: `tollgate hooks uninstall codex` takes it out';

export const isMarkedHeader = (line: string): boolean => line.trimEnd().endsWith(headMark);

const firstMark = '# >>> tollgate: `tollgate hooks uninstall codex` removes this block';
const ownLines: readonly string[] = [firstMark, '# <<< tollgate', headMark.trim()];

/** Removes our comments that are on their own lines, and our comments after headers of tables that are not ours. */
export function withoutMarks(text: string, isOurs: (table: unknown) => boolean): string {
  let lines = linesOf(text);
  // From the end, so that earlier positions stay valid.
  for (const [at, line] of [...lines.entries()].toReversed()) {
    // If a table of ours follows the mark, only the mark is removed: the blank line before the mark now belongs to that
    // table.
    if (ownLines.includes(line.trim()))
      lines = provenOr(lines, isOurs(tableAt(lines, at + 1)) ? lines.toSpliced(at, 1) : withoutLine(lines, at));
    else if (isMarkedHeader(line) && !isOurs(tableAt(lines, at))) lines = provenOr(lines, withoutTail(lines, at));
  }
  return lines.join('');
}

/**
 * Returns `without` if it has the same content as `lines`. Otherwise returns `lines`, because what looks like our
 * comment is then part of a longer string.
 */
const provenOr = (lines: readonly string[], without: readonly string[]): readonly string[] =>
  says(without.join(''), parseToml(lines.join(''))) ? without : lines;

/** Returns the lines without the mark at `at`. Also removes the blank line that was added before the first mark. */
function withoutLine(lines: readonly string[], at: number): readonly string[] {
  const isFirst = lines[at]?.trim() === firstMark;
  const before = isFirst && isBlank(lines[at - 1]) ? at - 1 : at;
  const behind = isFirst && at === 0 && isBlank(lines[1]) ? 2 : at + 1;
  return [...lines.slice(0, before), ...lines.slice(behind)];
}

const withoutTail = (lines: readonly string[], at: number): readonly string[] =>
  lines.with(at, (lines[at] ?? '').replace(headMark, '').replace(/[ \t]+(?=\r?\n?$)/, ''));

const tableProbe = 'tollgate_probe';

/**
 * Returns the table of hooks that begins at the line. To find it, the key `tableProbe` is inserted after the line: the
 * table that then has this key is the result.
 */
function tableAt(lines: readonly string[], at: number): unknown {
  const line = lines[at] ?? '';
  const probed = [
    ...lines.slice(0, at),
    line,
    line.endsWith('\n') ? '' : '\n',
    `${tableProbe} = 1`,
    newlineOf(line),
    ...lines.slice(at + 1),
  ];
  const hooks = saidBy(probed.join(''))?.['hooks'];
  return Object.values(isRow(hooks) ? hooks : {})
    .flat()
    .find((table) => isRow(table) && tableProbe in table);
}

// Removes or renames keys of `hooks.state`, in every notation: `[hooks.state."…"]`, a line of `[hooks.state]`, dotted
// keys, or an inline table.

/** Removes the keys in `gone` and renames the keys in `moves`. Throws when an edit cannot be proven. */
export function changeStateKeys(text: string, gone: readonly string[], moves: ReadonlyMap<string, string>): string {
  if (gone.length === 0 && moves.size === 0) return text;
  const wanted = changedStates(parseToml(text), gone, moves);
  let edited = text;
  for (const key of gone) edited = withoutKey(edited, key);
  if (gone.length > 0 && Object.keys(statesIn(parseToml(edited))).length === 0)
    edited = withoutTable(edited, { begins: isStateHeader, wanted: parseToml(edited) }) ?? edited;
  edited = renamed(edited, moves);
  if (!says(edited, wanted)) throw unprovenEdit(text, Math.max(0, text.search(/\bstate\b/)), 'hooks.state');
  return edited;
}

const isStateHeader = (line: string): boolean => /^\s*\[\s*["']?hooks["']?\s*\.\s*["']?state["']?\s*\]/.test(line);

function changedStates(root: Row, gone: readonly string[], moves: ReadonlyMap<string, string>): Row {
  const kept = Object.entries(statesIn(root)).filter(([key]) => !gone.includes(key));
  return withStates(root, Object.fromEntries(kept.map(([key, state]) => [moves.get(key) ?? key, state])));
}

const withStates = (root: Row, state: Row): Row => ({ ...root, hooks: { ...(isRow(root['hooks']) ? root['hooks'] : {}), state } });

interface Token {
  readonly start: number;
  readonly end: number;
  /** The token as written, with its quotes. */
  readonly written: string;
}

const keyProbe = 'tollgate:probe';

const withProbe = (text: string, { start, end }: Token): string => `${text.slice(0, start)}"${keyProbe}"${text.slice(end)}`;

/** Finds every place where the text has this key of `hooks.state`. At such a place, another key can replace it. */
function tokensOf(text: string, key: string): readonly Token[] {
  const position = positionIn(key).replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const quoted = new RegExp(`"(?:[^"\\\\\\n]|\\\\.)*${position}"|'[^'\\n]*${position}'`, 'g');
  return [...text.matchAll(quoted)]
    .map(({ index, 0: written }) => ({ start: index, end: index + written.length, written }))
    .filter((token) => decoded(token.written) === key && keyProbe in statesIn(saidBy(withProbe(text, token)) ?? {}));
}

/** Returns the last part of a key, with event and position. It is written the same in every notation. */
const positionIn = (key: string): string => /(?::\w+:\d+:\d+)?$/.exec(key)?.[0] ?? '';

const decoded = (written: string): string | undefined => Object.keys(saidBy(`${written} = 0`) ?? {})[0];

function renamed(text: string, moves: ReadonlyMap<string, string>): string {
  const edits = [...moves].flatMap(([key, next]) => tokensOf(text, key).map((token) => ({ ...token, key, next })));
  let edited = text;
  for (const { start, end, written, key, next } of edits.toSorted((one, other) => other.start - one.start)) {
    const file = written.slice(0, -(positionIn(key).length + 1));
    edited = `${edited.slice(0, start)}${file}${positionIn(next)}${written.slice(-1)}${edited.slice(end)}`;
  }
  return edited;
}

function withoutKey(text: string, key: string): string {
  let edited = text;
  for (;;) {
    const token = tokensOf(edited, key).at(-1);
    const left = token === undefined ? null : withoutToken(edited, token);
    if (left === null) return edited;
    edited = left;
  }
}

/** Removes the table or the pair that the token names; null: the removal cannot be proven. */
function withoutToken(text: string, token: Token): string | null {
  const said = parseToml(withProbe(text, token));
  const { [keyProbe]: _, ...others } = statesIn(said);
  const wanted = withStates(said, others);
  const from = text.lastIndexOf('\n', token.start - 1) + 1;
  const before = text.slice(from, token.start);
  if (/^\s*\[/.test(before)) {
    const header = linesOf(text.slice(from))[0];
    return withoutTable(text, { begins: (line) => line === header, wanted });
  }
  for (const [start, end] of before.includes('{') ? pairsAround(text, token) : linesFrom(text, from, token.end)) {
    const left = text.slice(0, start) + text.slice(end);
    if (says(left, wanted)) return left;
  }
  return null;
}

/**
 * How many positions are tried, at most, to find where a pair ends. It is enough for the entry that Codex writes for a
 * hook, because that entry has fewer possible positions.
 */
const endsMax = 20;

/**
 * Returns spans that begin at `start`. The first one ends at the end of the line that contains the offset `behind`. The
 * others end at the ends of later lines.
 */
const linesFrom = (text: string, start: number, behind: number): readonly Span[] =>
  [...text.slice(behind).matchAll(/\n|$/g)].slice(0, endsMax).map(({ index, 0: end }) => [start, behind + index + end.length] as const);

/**
 * Returns the possible spans of a pair in an inline table: with the comma before it, with the comma after it, and
 * without a comma.
 */
function pairsAround(text: string, token: Token): readonly Span[] {
  const open = Math.max(text.lastIndexOf('{', token.start), text.lastIndexOf(',', token.start));
  const ends = [...text.slice(token.end).matchAll(/[,}\n]/g)].slice(0, endsMax).flatMap(({ index, 0: sign }) => {
    const end = token.end + index;
    const bare = text.slice(0, end).trimEnd().length;
    return sign === '}' ? [bare, end + 1] : [bare];
  });
  return ends.flatMap((end): readonly Span[] => {
    if (text[open] === ',') return [[open, end]];
    const behind = /^\s*,\s*/.exec(text.slice(end, end + endsMax));
    const blank = /^\s*/.exec(text.slice(end))?.[0].length ?? 0;
    return behind === null ? [[open + 1, end + blank]] : [[open + 1 + leading(text, open + 1), end + behind[0].length]];
  });
}

const leading = (text: string, at: number): number => /^\s*/.exec(text.slice(at))?.[0].length ?? 0;
