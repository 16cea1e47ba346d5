// Reads settings in TOML with smol-toml. The library gives no positions. A span to remove is therefore searched among
// whole lines and proven: without it, the text must have exactly the expected content.
import { isDeepStrictEqual } from 'node:util';
import { parse, TomlError } from 'smol-toml';
import { isRow, type Row } from '../api/answer.ts';
import { BadSettings } from './bad-settings.ts';

export function parseToml(text: string): Row {
  try {
    const value: unknown = parse(text, { integersAsBigInt: 'asNeeded' });
    return isRow(value) ? value : {};
  } catch (error) {
    if (error instanceof TomlError) throw new BadSettings(text, placeOf(text, error), `it is no TOML: ${firstLine(error.message)}`);
    throw error;
  }
}

const firstLine = (message: string): string => (message.split('\n')[0] ?? '').replace(/^Invalid TOML document: /, '');

function placeOf(text: string, { line, column }: TomlError): number {
  const lines = text.split('\n').slice(0, line - 1);
  return lines.reduce((at, one) => at + one.length + 1, 0) + column - 1;
}

export const isToml = (text: string): boolean => saidBy(text) !== null;

export function saidBy(text: string): Row | null {
  try {
    return parseToml(text);
  } catch (error) {
    if (error instanceof BadSettings) return null;
    throw error;
  }
}

/** Returns the lines with their line ends. */
export const linesOf = (text: string): readonly string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

/** An invalid text never equals the wanted content. */
export const says = (text: string, wanted: Row): boolean => {
  const said = saidBy(text);
  return said !== null && isDeepStrictEqual(settled(said), settled(wanted));
};

/** Removes empty lists and tables below `hooks`, because it does not matter whether a header created one. */
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

/** How many lines after its first line the end of a table is searched. */
const linesMax = 200;

/**
 * Returns the text without one table: it removes the fewest lines, from a line that `begins`, so that the text says
 * `wanted`. A blank line before them is removed too, and at the beginning of the text the blank line after them. The
 * blank line stays if the line after the table `sharesBlank`. Null: there is no such table.
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
 * Returns the text with other lines in place of one table. It replaces the fewest lines, from a line that `begins`, so
 * that the text says `wanted`.
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
  // From the end: of two spans with the same end, the one that begins later has fewer lines.
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
  // If our last line had no newline, the line before our table had none.
  return to === lines.length && lines[to - 1]?.endsWith('\n') === false ? left.replace(/\r?\n$/, '') : left;
}

export const isBlank = (line: string | undefined): boolean => line !== undefined && line.trim() === '';
