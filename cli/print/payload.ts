// Prints the input of a call for a person who decides about it. The input was written by an agent, perhaps to deceive this
// person. Therefore each line begins with `| `, also where a long line is broken, so that no text of the input looks like
// ours; every character that could not be seen is escaped; and a text in the form of a redaction mark is told apart from a
// real mark.
import { isRow } from '../api/answer.ts';
import { pathWithin, plainPath } from './brief.ts';
import { visibleJson, visibleText } from './escape.ts';
import { cellsOf } from './table.ts';

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

/** Returns the lines of an input, each with its note if it hides a value or has a text like a mark. */
export function payloadLines({ input, hidden, found, width }: Shown): readonly string[] {
  const lines = linesOf(input, '', '', '');
  const notes = notesOf(lines, hidden, found);
  return lines.flatMap((line, at) => {
    const note = notes[at];
    return [...agentLines(line.text, width), ...(note === undefined || note === null ? [] : [`    ^ ${note}`])];
  });
}

/** `head`: the name of the value with its colon. `tail`: the comma after it. */
function linesOf(value: unknown, path: string, head: string, tail: string, depth = 0): readonly Line[] {
  const indent = '  '.repeat(depth);
  const nested = (open: string, close: string, entries: readonly (readonly [name: string, head: string, value: unknown])[]): Line[] => {
    if (entries.length === 0) return [{ text: `${indent}${head}${open}${close}${tail}`, path: null, marks: marksIn(head) }];
    return [
      { text: `${indent}${head}${open}`, path: null, marks: marksIn(head) },
      ...entries.flatMap(([name, named, one], at) =>
        linesOf(one, pathWithin(path, name), named, at === entries.length - 1 ? '' : ',', depth + 1),
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
      return isSure ? list : `${list}, or text of the caller in the form of a mark: reveal it`;
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

/** Returns a text that an agent wrote as lines that each begin with `| `. `width`: as in `Shown`. */
export const agentLines = (text: string, width: number | null): readonly string[] =>
  brokenAt(text, width === null ? null : Math.max(20, width - prefix.length)).map((part) => `${prefix}${part}`);

/** Breaks a text into parts of at most `columns` columns, so that each can get a prefix. Null: it stays one part. */
export const brokenAt = (text: string, columns: number | null): readonly string[] => partsOf(text, columns, () => null);

/** As `brokenAt`, for sentences: a part ends behind a space if it has one. */
export const brokenAtWords = (text: string, columns: number | null): readonly string[] =>
  partsOf(text, columns, (line) => (line.includes(' ') ? line.lastIndexOf(' ') + 1 : null));

/** `endOf`: where a full line ends; null: at its last character. */
function partsOf(text: string, columns: number | null, endOf: (line: string) => number | null): readonly string[] {
  if (columns === null) return [text];
  const lines: string[] = [];
  let [line, used] = ['', 0];
  for (const one of text) {
    if (used + cellsOf(one) > columns) {
      const end = one === ' ' ? line.length : (endOf(line) ?? line.length);
      lines.push(line.slice(0, end));
      line = line.slice(end);
      used = Array.from(line).reduce((sum, character) => sum + cellsOf(character), 0);
    }
    line += one;
    used += cellsOf(one);
  }
  return [...lines, line];
}
