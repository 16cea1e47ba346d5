// Finds what must be redacted in one text: it calls each detector at its anchors, and resolves overlaps between
// findings.
import { digestText } from '@tollgate/proto/contract';
import { type Anchors, buildAnchors } from './anchors.ts';
import { endsWord, startsWord } from './boundary.ts';
import { type Detector, leadMax, type MatchReporter } from './detector.ts';
import { builtInMarks, marksIn, type Span } from './marks.ts';
import type { OwnPattern } from './own-pattern.ts';
import { plainCharacters } from './plain-characters.ts';
import { candidateCost, type Work } from './work.ts';

export interface Finding extends Span {
  readonly kind: string;
  /**
   * The detector's position in the list. If two detectors find the same text, the finding has the kind of the first
   * one.
   */
  readonly rank: number;
}

/** Values that were found before, with their kinds. */
export interface KnownValues {
  in(text: string, work: Work): readonly (Span & { readonly kind: string })[];
}

export const nothingKnown: KnownValues = { in: () => [] };

/** Returns a search for known values. It matches whole values only: `MERIDIAN` is not found in `MERIDIANS`. */
export function knownOf(kinds: ReadonlyMap<string, string>): KnownValues {
  if (kinds.size === 0) return nothingKnown;
  return {
    in: (text, work) => {
      const found: (Span & { readonly kind: string })[] = [];
      work.spend(kinds.size * (2 + text.length / 32));
      for (const [value, kind] of kinds) {
        for (let at = text.indexOf(value); at !== -1; at = text.indexOf(value, at + value.length))
          if (startsWord(text, at) && endsWord(text, at + value.length)) found.push({ kind, start: at, end: at + value.length });
      }
      return found;
    },
  };
}

export interface Finder {
  /**
   * Returns the findings from `from` on, in order and without overlaps. The text before `from` is only context.
   * `known`: values that were found in other places of the same payload.
   */
  find(text: string, from: number, known: KnownValues, work: Work): readonly Finding[];
  /**
   * Returns the position before which findings are final. More text could still complete or change a finding that
   * begins at this position or later.
   */
  settled(text: string): number;
  /** Returns whether the workspace keeps this value unchanged. */
  allows(value: string): boolean;
}

const none: readonly Finding[] = [];

interface FinderOptions {
  /** SHA-256 in hex of values that are kept. */
  readonly allow: ReadonlySet<string>;
  /** The kinds whose marks are recognised as marks. */
  readonly marked: ReadonlySet<string>;
}

export function createFinder(
  detectors: readonly Detector[],
  patterns: readonly OwnPattern[] = [],
  { allow, marked }: FinderOptions = { allow: new Set(), marked: builtInMarks },
): Finder {
  const anchors: Anchors = buildAnchors(detectors);
  const allows = (value: string): boolean => allow.size > 0 && allow.has(digestText(value));

  const candidates = (text: string, known: KnownValues, work: Work): readonly Finding[] => {
    let all: Finding[] | null = null;
    // For each detector, the end of its last finding. The detector is not called again before that position. The list
    // is created late, because most texts contain no finding.
    let covered: number[] | null = null;
    let asked = 0;
    const add = (kind: string, rank: number, start: number, end: number): void => {
      if (end > start && !allows(text.slice(start, end))) (all ??= []).push({ kind, rank, start, end });
    };
    const found: MatchReporter = (start, stop) => {
      covered ??= detectors.map(() => 0);
      covered[asked] = Math.max(covered[asked] ?? 0, stop);
      add(detectors[asked]?.kind ?? '', asked, start, stop);
    };
    work.spend(text.length);
    const marks = marksIn(text, marked);
    const plain = plainCharacters(text);
    anchors.scan(plain, (position, at, end) => {
      work.spend(candidateCost);
      if (at < (covered?.[position] ?? 0) || (marks.length > 0 && markAt(marks, at) !== null)) return;
      asked = position;
      detectors[position]?.find(plain, at, end, found);
    });
    for (const { kind, testCost, test, matches } of patterns) {
      work.spend(text.length * testCost);
      if (test(text)) for (const { start, end } of matches(text, (units) => work.spend(units))) add(kind, detectors.length, start, end);
    }
    for (const { kind, start, end } of known.in(text, work)) add(kind, detectors.length, start, end);
    return all === null ? none : outsideMarks(all, marks);
  };

  return {
    allows,
    find: (text, from, known, work) => {
      const found = candidates(text, known, work);
      return found.length === 0 ? none : united(found, from);
    },
    settled: (text) => {
      let settled = text.length;
      anchors.scan(plainCharacters(text), (position, at) => {
        const reach = detectors[position]?.reach;
        if (reach !== undefined && at + reach.after > text.length) settled = Math.min(settled, at - Math.min(reach.before, leadMax));
      });
      return Math.max(0, Math.min(settled, text.length - leadMax));
    },
  };
}

/**
 * Removes marks from findings, because a mark is not a finding. If a finding and a mark overlap at one end of the
 * finding, that end is cut off. If a finding continues on both sides of a mark, the finding keeps the mark.
 */
function outsideMarks(found: readonly Finding[], marks: readonly Span[]): readonly Finding[] {
  if (marks.length === 0) return found;
  return found.flatMap((finding) => {
    let { start, end } = finding;
    for (let mark = markAt(marks, start); mark !== null && start < end; mark = markAt(marks, start)) start = mark.end;
    for (let mark = markAt(marks, end - 1); mark !== null && start < end; mark = markAt(marks, end - 1)) end = mark.start;
    return start < end ? [{ ...finding, start, end }] : [];
  });
}

/** Returns the mark that covers a position. */
function markAt(marks: readonly Span[], position: number): Span | null {
  let low = 0;
  let high = marks.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((marks[middle]?.end ?? 0) <= position) low = middle + 1;
    else high = middle;
  }
  const mark = marks[low];
  return mark !== undefined && mark.start <= position ? mark : null;
}

/**
 * Merges overlapping findings. The merged finding has the kind of the longest one, or of the first one if lengths are
 * equal. Findings before `from` are dropped.
 */
function united(found: readonly Finding[], from: number): readonly Finding[] {
  const sorted = found.toSorted((a, b) => a.start - b.start || b.end - a.end || a.rank - b.rank);
  const result: Finding[] = [];
  for (const finding of sorted) {
    if (finding.end <= from) continue;
    const start = Math.max(finding.start, from);
    const last = result.at(-1);
    if (last === undefined || last.end <= start) result.push({ ...finding, start });
    else if (finding.end > last.end) result[result.length - 1] = { ...longer(last, finding), start: last.start, end: finding.end };
  }
  return result;
}

const longer = (a: Finding, b: Finding): Finding => (b.end - b.start > a.end - a.start ? b : a);

/** Returns the text from `from` on, with the findings replaced. */
export function replaceFound(
  text: string,
  from: number,
  found: readonly Finding[],
  markFor: (kind: string, value: string) => string,
): string {
  let result = '';
  let copied = from;
  for (const { kind, start, end } of found) {
    result += text.slice(copied, start) + markFor(kind, text.slice(start, end));
    copied = end;
  }
  return result + text.slice(copied);
}
