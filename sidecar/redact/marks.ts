// What stands where something was found: `[redacted:email]`, numbered for a run by first appearance. A model can tell
// two people apart by it, and not who they are.
import { digestText } from '@tollgate/proto/contract';

const mark = /\[redacted:[a-z][a-z0-9_]*(?:#([1-9]\d{0,8}))?\]/g;
const markBegin = '[redacted:';

export interface Span {
  readonly start: number;
  readonly end: number;
}

/** The marks that a text holds already, in order. */
export function marksIn(text: string): readonly Span[] {
  if (!text.includes(markBegin)) return [];
  return [...text.matchAll(mark)].map(({ index, 0: { length } }) => ({ start: index, end: index + length }));
}

/** The numbers that a run has given. One is made for each run and goes with it from call to call. */
export interface Numbers {
  /** What stands in place of a value. The same for the same value and kind. */
  markFor(kind: string, value: string): string;
  /** Notes the numbers that a text holds, whoever gave them: new ones go on above. */
  note(text: string): void;
}

// A run that holds more than these begins to give marks without a number.
const valuesMax = 10_000;
// Further than anybody counts, and near enough that a number which somebody made up does not use them up.
const numberMax = 1_000_000;
// Kinds are named in texts too, by whoever wrote them.
const kindsMax = 1_000;

export function createNumbers(): Numbers {
  const last = new Map<string, number>();
  const given = new Map<string, string>();
  return {
    markFor: (kind, value) => {
      // Not the value itself: it would stay in memory as long as the run.
      const key = `${kind} ${digestText(value)}`;
      const known = given.get(key);
      if (known !== undefined) return known;
      if (given.size >= valuesMax) return `${markBegin}${kind}]`;
      const number = (last.get(kind) ?? 0) + 1;
      last.set(kind, number);
      const made = `${markBegin}${kind}#${number}]`;
      given.set(key, made);
      return made;
    },
    note: (text) => {
      if (!text.includes(markBegin)) return;
      for (const [found, digits] of text.matchAll(mark)) {
        const number = Number(digits ?? 0);
        const kind = found.slice(markBegin.length, found.search(/[#\]]/));
        if (number > (last.get(kind) ?? 0) && number < numberMax && last.size < kindsMax) last.set(kind, number);
      }
    },
  };
}
