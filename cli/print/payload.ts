// Prints the input of a call for a person who decides about it. The input was written by an agent, perhaps to deceive this
// person. Therefore each line begins with `| `, also where a long line is broken, so that no text of the input looks like
// ours; every character that could not be seen is escaped; and a text in the form of a redaction mark is told apart from a
// real mark.
import { isRow } from '../api/answer.ts';
import { visibleJson, visibleText } from './escape.ts';

/** A value that the tool receives although the input does not show it. */
interface Hidden {
  readonly path: string;
  readonly kind: string;
}

interface Shown {
  readonly input: unknown;
  readonly hidden: readonly Hidden[];
  /** How many values of each kind redaction has found. */
  readonly found: ReadonlyMap<string, number>;
  /** The columns of the terminal; null: the output is no terminal, and no line is broken. */
  readonly width: number | null;
}

export interface Payload {
  readonly lines: readonly string[];
  /** What a person could overlook in the input, each in words. */
  readonly warnings: readonly string[];
}

/** One line of the input, before it is broken. */
interface Line {
  readonly text: string;
  /** Of a value that is no object or list; null: the line has none. */
  readonly path: string | null;
  /** The marks, or what looks like one, by kind. */
  readonly marks: readonly string[];
}

/** Begins each line of what an agent wrote. */
export const prefix = '| ';
/** The form of our marks, and forms that a reader could take for one. */
const markLike = /[[<({]\s*(?:redacted|secret|hidden|masked|removed|tollgate)\b[^\]>)}]{0,80}[\]>)}]/giu;
const ourMark = /^\[redacted:([a-z][a-z0-9_]{0,39})(?:#[1-9]\d{0,8})?\]$/u;
/** The kind of a text that looks like a mark and has not the form of one. */
const noKind = '';

export function payloadOf({ input, hidden, found, width }: Shown): Payload {
  const lines = linesOf(input, '', '', '');
  const notes = notesOf(lines, hidden, found);
  const columns = width === null ? null : Math.max(20, width - prefix.length);
  return {
    lines: lines.flatMap((line, at) => {
      const note = notes[at];
      const broken = brokenAt(line.text, columns).map((text) => `${prefix}${text}`);
      return note === undefined || note === null ? broken : [...broken, `    ^ ${note}`];
    }),
    warnings: [...new Set(textsIn(input).flatMap(lookalikesIn))].slice(0, warningsMax),
  };
}

const warningsMax = 20;

/** `head`: the name of the value with its colon. `tail`: the comma after it. */
function linesOf(value: unknown, path: string, head: string, tail: string, depth = 0): readonly Line[] {
  const indent = '  '.repeat(depth);
  const nested = (open: string, close: string, entries: readonly (readonly [name: string, head: string, value: unknown])[]): Line[] => {
    if (entries.length === 0) return [{ text: `${indent}${head}${open}${close}${tail}`, path: null, marks: marksIn(head) }];
    return [
      { text: `${indent}${head}${open}`, path: null, marks: marksIn(head) },
      ...entries.flatMap(([name, named, one], at) =>
        linesOf(one, path === '' ? name : `${path}.${name}`, named, at === entries.length - 1 ? '' : ',', depth + 1),
      ),
      { text: `${indent}${close}${tail}`, path: null, marks: [] },
    ];
  };
  if (Array.isArray(value))
    return nested(
      '[',
      ']',
      value.map((one: unknown, at) => [String(at), '', one]),
    );
  if (isRow(value))
    return nested(
      '{',
      '}',
      Object.entries(value).map(([name, one]) => [name, `${visibleJson(name)}: `, one]),
    );
  return [{ text: `${indent}${head}${visibleJson(value)}${tail}`, path, marks: [...marksIn(head), ...marksIn(value)] }];
}

const marksIn = (value: unknown): readonly string[] =>
  typeof value !== 'string' ? [] : [...value.matchAll(markLike)].map(([text]) => ourMark.exec(text)?.[1] ?? noKind);

/** A path in one form: `items[0].name` and `items.0.name` are the same. */
const plainPath = (path: string): string => path.replaceAll(/\[(\d+)\]/g, '.$1').replace(/^\$?\.?/, '');

/**
 * Returns a note for each line that hides a value or has a text like a mark. Redaction keeps a mark that was in the input
 * before, so that the text alone does not tell. But it says where it hid something, and how many it found of each kind.
 */
function notesOf(lines: readonly Line[], hidden: readonly Hidden[], found: ReadonlyMap<string, number>): readonly (string | null)[] {
  const places = countOf(lines.flatMap(({ path }) => (path === null ? [] : [path])));
  const hiddenAt = new Map<string, { readonly kind: string; readonly number: number }[]>();
  for (const [at, { path, kind }] of hidden.entries())
    hiddenAt.set(plainPath(path), [...(hiddenAt.get(plainPath(path)) ?? []), { kind, number: at + 1 }]);
  const isHidden = ({ path }: Line): boolean => path !== null && hiddenAt.has(path);
  const open = countOf(lines.flatMap((line) => (isHidden(line) ? [] : line.marks)));
  const hiddenKinds = countOf(hidden.map(({ kind }) => kind));
  // A hidden name has the path of its object, which no line of a value has. So has an input that is hidden as a whole.
  const named = new Set(hidden.flatMap(({ path, kind }) => (places.has(plainPath(path)) ? [] : kind.split(', '))));
  return lines.map((line) => {
    const here = line.path === null ? undefined : hiddenAt.get(line.path);
    if (here !== undefined) {
      const list = here.map(({ number, kind }) => `hidden value ${number} (${visibleText(kind)})`).join(', ');
      const isSure = places.get(line.path ?? '') === 1 && line.marks.length <= here.length;
      return isSure ? `${list}: the tool receives what is not shown` : `${list}, or text of the caller in the form of a mark: reveal it`;
    }
    if (line.marks.length === 0) return null;
    if (line.marks.some((kind) => named.has(kind))) return 'perhaps hidden, or text of the caller in the form of a mark: reveal it';
    const ours = line.marks.map((kind) => {
      const real = kind === noKind ? 0 : (found.get(kind) ?? 0) - (hiddenKinds.get(kind) ?? 0);
      return real <= 0 ? 'no' : real >= (open.get(kind) ?? 0) ? 'yes' : 'perhaps';
    });
    if (ours.includes('no')) return 'NOT a mark of redaction: text of the caller, and the tool receives it as it is';
    return ours.includes('perhaps')
      ? 'perhaps not a mark of redaction: the caller has written marks of this kind too; the tool receives this text'
      : 'a mark of redaction: the tool receives this mark too';
  });
}

function countOf(words: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

/** All names and texts of a value. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  return isRow(value) ? Object.entries(value).flatMap(([name, one]) => [name, ...textsIn(one)]) : [];
}

const letters = /[\p{L}\p{M}\p{N}]+/gu;
const latin = /\p{Script=Latin}/u;
/** Scripts with letters that look like Latin ones. */
const likeLatin = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]/u;

/** Words whose letters are not what they look like: Latin mixed with another script, or other forms of ASCII letters. */
function lookalikesIn(text: string): readonly string[] {
  if (isAscii(text)) return [];
  return [...text.matchAll(letters)].flatMap(([word]) => {
    if (latin.test(word) && likeLatin.test(word)) return [`a word mixes letters that look alike: ${spelled(word)}`];
    return Array.from(word).some((one) => !isAscii(one) && isAscii(one.normalize('NFKC')))
      ? [`a word has other forms of plain letters: ${spelled(word)}`]
      : [];
  });
}

const isAscii = (text: string): boolean => /^[\0-\x7f]*$/.test(text);

const spelled = (word: string): string =>
  `${visibleText(word)} (${Array.from(word.slice(0, 60))
    .map((one) => (isAscii(one) ? one : `\\u{${one.codePointAt(0)?.toString(16) ?? ''}}`))
    .join('')})`;

/** Breaks a text into parts of at most `columns` columns, so that each can get a prefix. Null: it stays one part. */
export function brokenAt(text: string, columns: number | null): readonly string[] {
  if (columns === null) return [text];
  const lines: string[] = [];
  let [line, used] = ['', 0];
  for (const one of text) {
    const cells = one > '\u10ff' ? 2 : 1;
    if (used + cells > columns) {
      lines.push(line);
      [line, used] = ['', 0];
    }
    line += one;
    used += cells;
  }
  return [...lines, line];
}
