// Removes keys from `hooks.state` and renames others, in every notation: `[hooks.state."…"]`, a line of
// `[hooks.state]`, dotted keys, or an inline table. Each edit is proven by the content of the text after it. All other
// bytes stay.
import { isRow, type Row } from '../api/answer.ts';
import { unprovenEdit } from './bad-settings.ts';
import { statesIn } from './hook-places.ts';
import { linesOf, parseToml, saidBy, says, withoutTable } from './toml.ts';

/** Throws when an edit cannot be proven. */
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

const probe = 'tollgate:probe';

const probed = (text: string, { start, end }: Token): string => `${text.slice(0, start)}"${probe}"${text.slice(end)}`;

/** Finds every place where the text has this key of `hooks.state`. At such a place, another key can replace it. */
function tokensOf(text: string, key: string): readonly Token[] {
  const position = positionIn(key).replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const quoted = new RegExp(`"(?:[^"\\\\\\n]|\\\\.)*${position}"|'[^'\\n]*${position}'`, 'g');
  return [...text.matchAll(quoted)]
    .map(({ index, 0: written }) => ({ start: index, end: index + written.length, written }))
    .filter((token) => decoded(token.written) === key && probe in statesIn(saidBy(probed(text, token)) ?? {}));
}

/** The part of a key that is written the same in every notation. */
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
  const said = parseToml(probed(text, token));
  const { [probe]: _, ...others } = statesIn(said);
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

type Span = readonly [start: number, end: number];

/** More than the entry that Codex writes for a hook contains. */
const endsMax = 20;

/** Spans of whole lines. */
const linesFrom = (text: string, start: number, behind: number): readonly Span[] =>
  [...text.slice(behind).matchAll(/\n|$/g)].slice(0, endsMax).map(({ index, 0: end }) => [start, behind + index + end.length] as const);

/** The spans of a pair of an inline table: with the comma before it, with the comma after it, and without a comma. */
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
