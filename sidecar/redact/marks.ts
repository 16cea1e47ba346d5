// What stands where something was found: `[redacted:email]`, numbered for a run by first appearance. A model can tell
// two people apart by it, and not who they are.
import { digestText, overBudgetKind, redactionKinds } from '@tollgate/proto/contract';

const mark = /\[redacted:([a-z][a-z0-9_]{0,39})(?:#([1-9]\d{0,8}))?\]/g;
const markBegin = '[redacted:';

export interface Span {
  readonly start: number;
  readonly end: number;
}

export { overBudgetKind };

/** Of which kinds there are marks, where a workspace has none of its own. What else looks like one may hide something. */
export const builtInMarks: ReadonlySet<string> = new Set([...redactionKinds, overBudgetKind]);

/** The marks that a text holds already, in order. */
export function marksIn(text: string, kinds: ReadonlySet<string>): readonly Span[] {
  if (!text.includes(markBegin)) return [];
  return [...text.matchAll(mark)].flatMap(({ index, 0: { length }, 1: kind }) =>
    kind !== undefined && kinds.has(kind) ? [{ start: index, end: index + length }] : [],
  );
}

/** The text without them. */
export function withoutMarks(text: string, kinds: ReadonlySet<string>): string {
  let result = '';
  let copied = 0;
  for (const { start, end } of marksIn(text, kinds)) {
    result += text.slice(copied, start);
    copied = end;
  }
  return copied === 0 ? text : result + text.slice(copied);
}

/** The numbers that a run has given. One is made for each run and goes with it from call to call. */
export interface Numbers {
  /** What stands in place of a value. The same for the same value and kind; `digest`: that of the value, if it is known. */
  markFor(kind: string, value: string, digest?: string): string;
  /** Notes the numbers that a text holds, whoever gave them: new ones go on above. */
  note(text: string, kinds: ReadonlySet<string>): void;
  /** None that is higher was given or noted. */
  readonly highest: number;
  /** Keeps no value from now on: each is told apart, and not recognised when it comes again. What holds it may outlive its budget. */
  keepNoMore(): void;
}

interface NumbersParts {
  /** Numbers of each kind begin above it. */
  readonly above?: number;
  /** Told of each value that is kept from now on, with the bytes that it takes. */
  readonly onGrown?: (bytes: number) => void;
}

// Of a run that holds more values than these, further ones are told apart, but not recognised when they come again.
const valuesMax = 10_000;
// Nine digits. Where they are used up, marks have no number.
const numberMax = 999_999_999;

/** A digest, a mark, and their place in a map. */
const valueBytes = 250;

export const createNumbers = (parts: NumbersParts = {}): Numbers => new RunNumbers(parts);

// A class, since every session has one, and most of them never give a number.
class RunNumbers implements Numbers {
  highest: number;
  readonly #above: number;
  readonly #onGrown: (bytes: number) => void;
  /** By kind. */
  #last: Map<string, number> | null = null;
  #given: Map<string, string> | null = null;
  #keeps = true;

  constructor({ above = 0, onGrown = () => undefined }: NumbersParts) {
    this.#above = above;
    this.highest = above;
    this.#onGrown = onGrown;
  }

  markFor(kind: string, value: string, digest = digestText(value)): string {
    // Not the value itself: it would stay in memory as long as the run.
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
