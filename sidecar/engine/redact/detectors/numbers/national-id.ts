// Finds numbers that states assign to people. A number with a nearly unique form is found anywhere. Any other number is
// found only next to a word for it. Check digits are verified if the number has some.
import { isWordCode, startsWord } from '../../boundary.ts';
import type { Detector } from '../../detector.ts';
import { labelBefore } from '../context/context.ts';
import { isDigit, isTypedRow } from './digits.ts';
import { americas } from './national-ids/americas.ts';
import { asiaPacific } from './national-ids/asia-pacific.ts';
import { documents } from './national-ids/documents.ts';
import { europe } from './national-ids/europe.ts';
import { type Mask, maskFrom, mayBeLast, mayBeNext, sortOf } from './national-ids/form.ts';

const masks: readonly Mask[] = [...europe, ...americas, ...asiaPacific, ...documents].flatMap((id) => [
  ...id.alone.map((written) => maskFrom(written, true, id)),
  ...id.labelled.map((written) => maskFrom(written, false, id)),
]);

// Longer masks come first: a mask such as `######-####` comes before any mask that is equal to the beginning of it.
// Masks are indexed by the length of their first run of digits, and by the characters before and after that run, so
// that few masks are tried.
const runMax = 18;
const sorts = [' ', '-', '.', '/', '@', '(', '#', '%', '&', '+'] as const;
const byRun: readonly ReadonlyMap<string, ReadonlyMap<string, readonly Mask[]>>[] = Array.from({ length: runMax + 1 }, (_, run) => {
  const ofRun = masks.filter(({ firstRun }) => run >= firstRun.min && run <= firstRun.max).toSorted((a, b) => b.length - a.length);
  const behind = (before: readonly Mask[]) => new Map(sorts.map((sort) => [sort, before.filter((mask) => mayBeNext(mask, sort))]));
  return new Map(sorts.map((sort) => [sort, behind(ofRun.filter((mask) => mayBeLast(mask, sort)))]));
});

export const nationalId: Detector = {
  kind: 'national_id',
  anchors: 'digits',
  reach: { before: 80, after: 128 },
  find: (text, at, end, found) => {
    const candidates = byRun[end - at]?.get(sortOf(text.charCodeAt(at - 1)))?.get(sortOf(text.charCodeAt(end)));
    // The digits of `%20`, and digits after a point, do not begin a number.
    if (candidates === undefined || candidates.length === 0 || text[at - 1] === '%') return;
    let context: Around | null = null;
    const mayStartHere = mayStart(text, at);
    for (const { pattern, before, isAlone, isValid, called } of candidates) {
      const start = at - before;
      if (before === 0 ? !mayStartHere : start < 0 || !mayStart(text, start)) continue;
      if (context !== null && !isOne(context, isAlone)) continue;
      pattern.lastIndex = start;
      if (!pattern.test(text) || !endsNumber(text, pattern.lastIndex)) continue;
      const stop = pattern.lastIndex;
      context ??= contextOf(text, start);
      if (!isOne(context, isAlone)) continue;
      if (called !== null && !called.test(text.slice(Math.max(0, start - calledReach), start))) continue;
      const compact = compactOf(text.slice(start, stop));
      if (isValid(compact) && !isTypedRow(compact) && !isDate.test(compact)) return found(start, stop);
    }
  },
};

// A date, most often a date of birth. Dates often occur near such numbers.
const isDate = /^(?:(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])|(?:0[1-9]|[12]\d|3[01])(?:0[1-9]|1[0-2])(?:19|20)\d\d)$/;

// The maximum length of the word before the number, together with the text between them.
const calledReach = 24;

type Around = 'person' | 'order' | 'none';

/** Returns whether a number in this context is a national id. `isAlone`: it needs no word next to it. */
const isOne = (context: Around, isAlone: boolean): boolean => context === 'person' || (isAlone && context === 'none');

function contextOf(text: string, start: number): Around {
  const context = labelBefore(text, start)?.context;
  return context === 'person' || context === 'order' ? context : 'none';
}

const compactOf = (written: string): string =>
  (joints.test(written) ? written.replaceAll(/%2[0-9DF]|&#?\w{2,6};/gi, '').replaceAll(/[^A-Za-z0-9]/g, '') : written).toUpperCase();
const joints = /[^A-Za-z0-9]/;

const mayStart = (text: string, start: number): boolean => startsWord(text, start) && !isInsideName(text, start);

/** Returns whether the number is part of a longer name: after `12.` or `item-`, but not after `Nr.`. */
const isInsideName = (text: string, start: number): boolean =>
  start > 1 &&
  (text[start - 1] === '.'
    ? isDigit(text.charCodeAt(start - 2))
    : '-_/'.includes(text.charAt(start - 1)) && isWordCode(text.charCodeAt(start - 2)));

function endsNumber(text: string, end: number): boolean {
  const next = text.charCodeAt(end);
  if (isWordCode(next) || next === 95) return false;
  return !((next === 45 || next === 46 || next === 47) && isDigit(text.charCodeAt(end + 1)));
}
