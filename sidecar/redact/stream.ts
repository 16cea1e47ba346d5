// Redacts a text that comes in pieces. What could still become part of a finding is held back until more has come, so a
// secret that is split between pieces is found; what has gone out stays known as context for what follows.
//
// States: open (takes pieces), ended (has given out everything).
import type { Finding as KindCount } from '@tollgate/proto/contract';
import { type Finder, nothingKnown, replaceFound } from './finder.ts';
import type { Numbers } from './marks.ts';
import { createWork } from './work.ts';

export interface TextStream {
  /** Takes the next piece, answers what can go out. */
  push(piece: string): string;
  /** Answers the rest. */
  end(): string;
  /** What was found up to now, by kind. */
  findings(): readonly KindCount[];
}

// What is left of what went out, for detectors that look back.
const contextLength = 512;
// Pieces smaller than this are put together before they are looked at.
const stepLength = 128;

export function createTextStream(finder: Finder, numbers: Numbers): TextStream {
  const counts = new Map<string, number>();
  let context = '';
  let held = '';
  let looked = 0;

  const markFor = (kind: string, value: string): string => {
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    return numbers.markFor(kind, value);
  };
  const release = (ended: boolean): string => {
    const text = context + held;
    const found = finder.find(text, context.length, nothingKnown, createWork());
    const settled = ended ? text.length : finder.settled(text);
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
  return {
    push: (piece) => {
      numbers.note(piece);
      held += piece;
      return held.length - looked < stepLength ? '' : release(false);
    },
    end: () => release(true),
    findings: () => [...counts].map(([kind, count]) => ({ kind, count })).sort((a, b) => (a.kind < b.kind ? -1 : 1)),
  };
}
