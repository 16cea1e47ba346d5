// Redacts a text that comes in pieces. What could still become part of a finding is held back until more has come, so a
// secret that is split between pieces is found; what has gone out stays known as context for what follows.
//
// States: open (takes pieces), ended (has given out everything).
import type { Finding as KindCount } from '@tollgate/proto/contract';
import { type Finding, knownOf, replaceFound } from './finder.ts';
import { type Numbers, overBudgetKind } from './marks.ts';
import { createValues } from './values.ts';
import { type Finders, findWanted } from './wanted.ts';
import { createWork, OverBudget } from './work.ts';

export interface TextStream {
  /** Takes the next piece, answers what can go out. */
  push(piece: string): string;
  /** Answers what is held back, at a place that nothing reaches across, and goes on. */
  flush(): string;
  /** Answers the rest. */
  end(): string;
  /** What was found up to now, by kind. */
  findings(): readonly KindCount[];
}

// What is left of what went out, for detectors that look back.
const contextLength = 512;
// Less than this, or than a quarter of what is held, is put together before it is looked at.
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
  /** Again where something was found that may stand elsewhere too. */
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
    // A finding goes out whole or not at all.
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
  /** What asks for too much work goes whole, as in a payload. */
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

/** Not between the halves of a surrogate pair: whoever encodes the pieces one by one would lose both. */
const wholeCharacters = (text: string, end: number): number => (/[\ud800-\udbff]/.test(text.charAt(end - 1)) ? end - 1 : end);
