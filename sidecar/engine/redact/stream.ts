// Redacts a text that arrives in pieces. Text that could still become part of a finding is held back until more has
// arrived, so a secret that is split between pieces is found. Text that was released stays available as context for
// what follows.
//
// States: open (accepts pieces), ended (has released everything).
import type { Finding as KindCount } from '@tollgate/proto/contract';
import { type Finding, knownOf, replaceFound } from './finder.ts';
import { type Numbers, overBudgetKind } from './marks.ts';
import { createValues } from './values.ts';
import { type Finders, findWanted } from './wanted.ts';
import { createWork, OverBudget } from './work.ts';

export interface TextStream {
  /** Accepts the next piece and returns the text that can be released. */
  push(piece: string): string;
  /** Returns all held text, and continues. Call this only at a place that no finding crosses. */
  flush(): string;
  /** Returns the rest of the text. No piece may follow. */
  end(): string;
  /** Returns the findings so far, by kind. */
  findings(): readonly KindCount[];
}

// The length of the released text that is kept, for detectors that also read the text before a finding.
const contextLength = 512;
// New text is searched when it is at least this long and at least a quarter as long as the text that is already held
// back.
const stepLength = 128;

export function createTextStream(finders: Finders, numbers: Numbers): TextStream {
  const counts = new Map<string, number>();
  const values = createValues();
  let context = '';
  let held = '';
  let looked = 0;

  const markFor = (kind: string, value: string): string => {
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    return numbers.markFor(kind, value);
  };
  /**
   * Searches the text. If this finds a new value, searches the text again, because the value may occur in other places
   * too.
   */
  const look = (text: string): readonly Finding[] => {
    const work = createWork();
    const { found } = findWanted(finders, text, context.length, knownOf(values.all), work);
    const before = values.all.size;
    for (const { kind, start, end } of found) values.add(kind, text.slice(start, end));
    return values.all.size === before ? found : findWanted(finders, text, context.length, knownOf(values.all), work).found;
  };
  const release = (ended: boolean): string => {
    const text = context + held;
    numbers.note(text, finders.marked);
    const found = look(text);
    const settled = ended ? text.length : wholeCharacters(text, finders.wanted.settled(text));
    // A finding is released as a whole or held back as a whole.
    const end = Math.max(
      context.length,
      found.reduce((at, finding) => (finding.start < at && at < finding.end ? finding.start : at), settled),
    );
    const out = replaceFound(
      text.slice(0, end),
      context.length,
      found.filter((finding) => finding.end <= end),
      markFor,
    );
    context = text.slice(Math.max(0, end - contextLength), end);
    held = text.slice(end);
    looked = held.length;
    return out;
  };
  /**
   * Releases text in the same way as `release`. If the text needs too much work, one mark replaces all of it, as in a
   * payload.
   */
  const releaseWithin = (ended: boolean): string => {
    try {
      return release(ended);
    } catch (error) {
      if (!(error instanceof OverBudget)) throw error;
      counts.set(overBudgetKind, (counts.get(overBudgetKind) ?? 0) + 1);
      context = '';
      held = '';
      looked = 0;
      return `[redacted:${overBudgetKind}]`;
    }
  };
  return {
    push: (piece) => {
      held += piece;
      return held.length - looked < Math.max(stepLength, looked / 4) ? '' : releaseWithin(false);
    },
    flush: () => releaseWithin(true),
    end: () => releaseWithin(true),
    findings: () => [...counts].map(([kind, count]) => ({ kind, count })).sort((a, b) => (a.kind < b.kind ? -1 : 1)),
  };
}

/**
 * Returns an end that is not between the halves of a surrogate pair. Otherwise both halves would be lost if the pieces
 * are encoded separately.
 */
const wholeCharacters = (text: string, end: number): number => (/[\ud800-\udbff]/.test(text.charAt(end - 1)) ? end - 1 : end);
