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

export function createNumbers({ above = 0, onGrown = () => undefined }: NumbersParts = {}): Numbers {
  let highest = above;
  const last = new Map<string, number>();
  const given = new Map<string, string>();
  return {
    markFor: (kind, value, digest = digestText(value)) => {
      // Not the value itself: it would stay in memory as long as the run.
      const key = `${kind} ${digest}`;
      const known = given.get(key);
      if (known !== undefined) return known;
      const number = (last.get(kind) ?? above) + 1;
      if (number > numberMax) return `${markBegin}${kind}]`;
      last.set(kind, number);
      highest = Math.max(highest, number);
      const made = `${markBegin}${kind}#${number}]`;
      if (given.size < valuesMax) {
        given.set(key, made);
        onGrown(valueBytes);
      }
      return made;
    },
    note: (text, kinds) => {
      if (!text.includes(markBegin)) return;
      for (const [, kind = '', digits] of text.matchAll(mark)) {
        if (!kinds.has(kind)) continue;
        const number = Math.max(last.get(kind) ?? above, Number(digits ?? 0));
        last.set(kind, number);
        highest = Math.max(highest, number);
      }
    },
    get highest() {
      return highest;
    },
  };
}
