// Defines the mark that replaces a finding: `[redacted:email]`. In a run, marks are numbered in the order of their
// first appearance. With the numbers, a model can distinguish two people without knowing who they are.
import { digestText, overBudgetKind, redactionKinds } from '@tollgate/proto/contract';

const mark = /\[redacted:([a-z][a-z0-9_]{0,39})(?:#([1-9]\d{0,8}))?\]/g;
const markBegin = '[redacted:';

export interface Span {
  readonly start: number;
  readonly end: number;
}

export { overBudgetKind };

/**
 * The kinds whose marks are recognised if a workspace has no kinds of its own. A text in the form of a mark, but with
 * another kind, is not recognised as a mark, because it may hide something.
 */
export const builtInMarks: ReadonlySet<string> = new Set([...redactionKinds, overBudgetKind]);

/** Returns the marks that a text already contains, in order. */
export function marksIn(text: string, kinds: ReadonlySet<string>): readonly Span[] {
  if (!text.includes(markBegin)) return [];
  return [...text.matchAll(mark)].flatMap(({ index, 0: { length }, 1: kind }) =>
    kind !== undefined && kinds.has(kind) ? [{ start: index, end: index + length }] : [],
  );
}

/** Returns the text with its marks as they are without their numbers. Another process may give the same value another number. */
export const withoutNumbers = (text: string): string =>
  text.includes(markBegin) ? text.replaceAll(mark, (_mark, kind: string) => `${markBegin}${kind}]`) : text;

/** Returns the text without its marks. */
export function withoutMarks(text: string, kinds: ReadonlySet<string>): string {
  let result = '';
  let copied = 0;
  for (const { start, end } of marksIn(text, kinds)) {
    result += text.slice(copied, start);
    copied = end;
  }
  return copied === 0 ? text : result + text.slice(copied);
}

/** The numbers that a run has assigned. One object is made for each run and passed from call to call. */
export interface Numbers {
  /**
   * Returns the replacement of a value. It is the same for the same value and kind. `digest`: the digest of the value,
   * if it is known.
   */
  markFor(kind: string, value: string, digest?: string): string;
  /** Notes the numbers of the marks in a text, from any source. New numbers will be higher than these. */
  note(text: string, kinds: ReadonlySet<string>): void;
  /** The highest number that was assigned or noted. */
  readonly highest: number;
  /**
   * From now on no values are stored: each value gets a new number and is not recognised when it appears again. This is
   * used if the object may exceed its memory budget.
   */
  keepNoMore(): void;
}

interface NumbersParts {
  /** The first number of each kind is the next one after this number. */
  readonly above?: number;
  /** Called for each value that is stored from now on, with its size in bytes. */
  readonly onGrown?: (bytes: number) => void;
}

// If a run contains more values than this, further values get numbers but are not recognised when they appear again.
const valuesMax = 10_000;
// Nine digits. When they are used up, marks have no number.
const numberMax = 999_999_999;

/** The size of a digest, a mark, and their entry in a map. */
const valueBytes = 250;

export const createNumbers = (parts: NumbersParts = {}): Numbers => new RunNumbers(parts);

// This is a class and its maps are created late, because every session has such an object, and most of these objects
// never assign a number.
class RunNumbers implements Numbers {
  highest: number;
  readonly #above: number;
  readonly #onGrown: (bytes: number) => void;
  /** The last number of each kind. */
  #last: Map<string, number> | null = null;
  #given: Map<string, string> | null = null;
  #keeps = true;

  constructor({ above = 0, onGrown = () => undefined }: NumbersParts) {
    this.#above = above;
    this.highest = above;
    this.#onGrown = onGrown;
  }

  markFor(kind: string, value: string, digest = digestText(value)): string {
    // The key is a digest, because the value itself would stay in memory as long as the run.
    const key = `${kind} ${digest}`;
    const known = this.#given?.get(key);
    if (known !== undefined) return known;
    const number = this.#lastOf(kind) + 1;
    if (number > numberMax) return `${markBegin}${kind}]`;
    this.#reach(kind, number);
    const made = `${markBegin}${kind}#${number}]`;
    if (!this.#keeps) return made;
    this.#given ??= new Map();
    if (this.#given.size < valuesMax) {
      this.#given.set(key, made);
      this.#onGrown(valueBytes);
    }
    return made;
  }

  keepNoMore(): void {
    this.#keeps = false;
    this.#given = null;
  }

  note(text: string, kinds: ReadonlySet<string>): void {
    if (!text.includes(markBegin)) return;
    for (const [, kind = '', digits] of text.matchAll(mark))
      if (kinds.has(kind)) this.#reach(kind, Math.max(this.#lastOf(kind), Number(digits ?? 0)));
  }

  #lastOf(kind: string): number {
    return this.#last?.get(kind) ?? this.#above;
  }

  #reach(kind: string, number: number): void {
    this.#last ??= new Map();
    this.#last.set(kind, number);
    this.highest = Math.max(this.highest, number);
  }
}
