// Finds numbers of payment cards: they must have the prefix and a length of a brand, and a correct check digit.
// Published test numbers of processors are excluded, and so are numbers labelled as orders or counters.
import { isWordCode, startsWord } from '../../boundary.ts';
import type { Detector } from '../../detector.ts';
import { hasLabelBefore, labelBefore } from '../context/context.ts';
import type { Context } from '../context/context-words.ts';
import type { Label } from '../context/labels.ts';
import { isLuhn } from './checksums.ts';
import { digitsOf, type Group, isDigit, isTypedRow, readGroups } from './digits.ts';
import { cellsAbove } from './headings.ts';
import { isPublished, wordNeeded } from './payment-brands.ts';

const lengthMin = 12;
const lengthMax = 19;
// The maximum distance to the heading of a column or a record.
const headingReach = 256;

// The groupings in which cards are written.
const groupings = new Set(
  '4-4-4-4 4-4-4-1 4-4-4-2 4-4-4-3 4-4-4-5 4-4-4-6 4-4-4-7 4-4-4-4-1 4-4-4-4-2 4-4-4-4-3 4-6-4 4-6-5 4-5-6 6-10 6-12 6-13 8-8 8-8-3 4-12 5-5-5'.split(
    ' ',
  ),
);
const groupMin = 4;
const groupMax = 8;
const groupsMax = 5;

export const paymentCard: Detector = {
  kind: 'payment_card',
  anchors: 'digits',
  reach: { before: headingReach + 8, after: 192 },
  find: (text, at, end, found) => {
    const first = end - at;
    if (first < groupMin || first > lengthMax || (first > groupMax && first < lengthMin) || !mayStart(text, at)) return;
    if (first <= groupMax && continues(text, at, end)) return;
    const { groups, separator } = readGroups(text, at, end, groupsMax + 1);
    for (let count = Math.min(groups.length, groupsMax); count > 0; count--) {
      const stop = groups[count - 1]?.end ?? end;
      const digits = digitsOf(text, groups, count);
      if (digits.length < lengthMin || digits.length > lengthMax || !endsNumber(text, stop) || !isShape(groups, separator, count)) continue;
      if (count > 1 && isDump(text, at, stop)) continue;
      const needs = isLuhn(digits) ? wordNeeded(digits) : null;
      if (needs === null || isPublished(digits) || isTypedRow(digits)) continue;
      if (isLabelled(text, at, count > 1, needs || standsInPath(text, at))) return found(at, stop);
    }
  },
};

/**
 * Returns whether a card number may begin at `at`: not after a letter or a point, and not inside a name that is joined
 * by hyphens.
 */
function mayStart(text: string, at: number): boolean {
  const before = text.charAt(at - 1);
  if (before === ',' && text[at - 2] === '0' && !isDigit(text.charCodeAt(at - 3))) return false;
  if ('._-'.includes(before) && before !== '' && isWordCode(text.charCodeAt(at - 2))) return false;
  return startsWord(text, at) || (before === 'B' && text[at - 2] === '%');
}

function endsNumber(text: string, end: number): boolean {
  const next = text.charCodeAt(end);
  return !isWordCode(next) && next !== 95 && !(next === 46 && isDigit(text.charCodeAt(end + 1)));
}

/** Returns whether the digits are the second or a later group of a row. */
const continues = (text: string, at: number, end: number): boolean =>
  text[at - 1] === text[end] &&
  text[at - 1] !== ',' &&
  groupMin <= at - 1 &&
  isDigit(text.charCodeAt(at - 2)) &&
  isDigit(text.charCodeAt(at - 5));

/** Returns whether people write cards in these groups, and no further group follows. */
function isShape(groups: readonly Group[], separator: string, count: number): boolean {
  const next = groups[count];
  if (count === 1) return next === undefined || separator === '+' || separator.trim() !== separator;
  return (
    groupings.has(
      groups
        .slice(0, count)
        .map(({ start, end }) => end - start)
        .join('-'),
    ) &&
    (next === undefined || next.end - next.start < groupMin)
  );
}

/**
 * Returns whether the groups belong to a hex dump, which has bytes in groups of four hex digits. This is so if the
 * group directly before or after the number has letters.
 */
const isDump = (text: string, start: number, stop: number): boolean =>
  dumpBehind.test(text.slice(stop, stop + 6)) || dumpBefore.test(text.slice(Math.max(0, start - 10), start));
const dumpBehind = /^ (?=[a-f]{0,3}\d)(?=\d{0,3}[a-f])[\da-f]{4}(?:[^\da-z]|$)/;
const dumpBefore = /(?:^|[^\da-z])(?=[a-f]{0,3}\d)(?=\d{0,3}[a-f])[\da-f]{4} $|\b[\da-f]{8}: $/;

const standsInPath = (text: string, at: number): boolean => text[at - 1] === '/' || text[at - 1] === '#';

/** Returns whether the label applies to the number. A word in the heading of a table applies only to its own column. */
function isSaidOf(text: string, { context, end }: Label<Context>, at: number): boolean {
  const between = text.slice(end, at);
  if (!/\n[^\n]*[A-Za-z0-9]/.test(between)) return true;
  for (const cell of cellsAbove(text, at, headingReach))
    if (labelBefore(text, cell.end, cell.end - cell.start)?.context === context) return true;
  return false;
}

/**
 * Returns whether the words before the number permit a card. A word for orders or counters excludes only a number
 * without groups, because numbers of orders are not written in the groups of a card.
 */
function isLabelled(text: string, at: number, isGrouped: boolean, needsWord: boolean): boolean {
  const label = labelBefore(text, at);
  if (label?.context === 'card' || label?.context === 'person') return true;
  if (!isGrouped && (label?.context === 'order' || label?.context === 'counter') && isSaidOf(text, label, at)) return false;
  return !needsWord || hasLabelBefore(text, at, 'card', headingReach);
}
