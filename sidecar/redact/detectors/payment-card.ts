// Numbers of payment cards: of a brand, as long as that brand's are, and with the right check digit. Test numbers that
// processors publish are none, and neither is what an order or a counter is called by.
import { isWordCode, startsWord } from '../boundary.ts';
import type { Detector } from '../detector.ts';
import { isLuhn } from './checksums.ts';
import { hasLabelBefore, labelBefore } from './context.ts';
import type { Context } from './context-words.ts';
import { digitsOf, type Group, isDigit, isTypedRow, readGroups } from './digits.ts';
import { cellsAbove } from './headings.ts';
import type { Label } from './labels.ts';

interface Brand {
  readonly prefix: RegExp;
  readonly lengths: readonly number[];
  /** Lengths at which other numbers are as often that long: a word for cards must stand before it. */
  readonly withWord?: readonly number[];
}

// Ranges as in ISO/IEC 7812 issuer identification and the brands' own guides for merchants.
const brands: readonly Brand[] = [
  { prefix: /^4/, lengths: [16], withWord: [13, 18, 19] }, // Visa, and Electron
  { prefix: /^5[1-5]/, lengths: [16] }, // Mastercard
  { prefix: /^2(?!\d(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01]))(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)/, lengths: [16] }, // and of 2017
  { prefix: /^2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)/, lengths: [], withWord: [16] }, // as it is a day, too, in numbers of orders
  { prefix: /^3[47]/, lengths: [15] }, // American Express
  { prefix: /^(?:30[0-5]|3095|36|38|39)/, lengths: [14], withWord: [15, 16, 17, 18, 19] }, // Diners Club
  { prefix: /^35(?:2[89]|[3-8])/, lengths: [16], withWord: [17, 18, 19] }, // JCB
  { prefix: /^(?:6011|64[4-9]|65)/, lengths: [16], withWord: [17, 18, 19] }, // Discover
  { prefix: /^62/, lengths: [16, 17, 18, 19] }, // UnionPay
  { prefix: /^81[0-7]/, lengths: [16], withWord: [17, 18, 19] }, // UnionPay, RuPay
  { prefix: /^(?:508[5-9]|60698|60[7-8]|652[12]|353|356)/, lengths: [16] }, // RuPay
  { prefix: /^(?:5018|5020|5038|5893|6304|6759|676[1-3]|67677[04])/, lengths: [16, 18, 19], withWord: [12, 13, 14, 15, 17] }, // Maestro
  { prefix: /^(?:50|5[6-9]|6)/, lengths: [], withWord: [12, 13, 14, 15, 16, 17, 18, 19] }, // Maestro, all it may have
  { prefix: /^(?:506(?:0(?:99|[1-9])|1)|650|507(?:8|9))/, lengths: [16, 18, 19] }, // Verve
  { prefix: /^220[0-4]/, lengths: [16], withWord: [17, 18, 19] }, // Mir
  { prefix: /^(?:9792|65)/, lengths: [16] }, // Troy
  { prefix: /^(?:401178|401179|438935|45763|4576|504175|5067|5090|5091|627780|636297|636368|65)/, lengths: [16] }, // Elo
  { prefix: /^(?:606282|384[1-6])/, lengths: [16], withWord: [13, 19] }, // Hipercard
  { prefix: /^(?:1946|5019|4571)/, lengths: [16] }, // Dankort
];

// Published for tests, so nobody pays with them: Stripe, Adyen, Braintree, PayPal.
const published = new Set(
  (
    '4242424242424242 4000056655665556 5555555555554444 2223003122003222 5200828282828210 5105105105105100 378282246310005 371449635398431 6011111111111117 ' +
    '6011000990139424 6011981111111113 3056930009020004 36227206271667 6555900000604105 3566002020360505 6200000000000005 6200000000000047 6205500000000000004 4111111111111111 ' +
    '4012888888881881 4222222222222 4000000000000002 4000000000000077 4000000000009995 4000000000000341 4000002500003155 4000002760003184 4000008260000000 4000000000003220 ' +
    '30569309025904 38520000023237 3530111333300000 4917610000000000 6304000000000000 5019717010103742 4005519200000004 4009348888881881 4012000033330026 4012000077777777 ' +
    '4217651111111119 4500600000000061 378734493671000 2222400070000005 6759649826438453 6007220000000004 4988438843884305 5577000055770004 370000000000002'
  ).split(' '),
);

const lengthMin = 12;
const lengthMax = 19;
// Where a column's or a record's heading may stand.
const headingReach = 256;

// How the digits stand in groups, where they do.
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
      if (needs === null || published.has(digits) || isTypedRow(digits)) continue;
      if (isLabelled(text, at, count > 1, needs || standsInPath(text, at))) return found(at, stop);
    }
  },
};

/** Not after a letter, a point, or in the middle of a name that is joined by hyphens. */
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

/** Whether this is the second or a later one in a row of groups. */
const continues = (text: string, at: number, end: number): boolean =>
  text[at - 1] === text[end] &&
  text[at - 1] !== ',' &&
  groupMin <= at - 1 &&
  isDigit(text.charCodeAt(at - 2)) &&
  isDigit(text.charCodeAt(at - 5));

/** Whether people group cards so, and no row of such groups goes on behind. */
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

/** Bytes in hexadecimal, written in groups of four; some have letters. */
const isDump = (text: string, start: number, stop: number): boolean =>
  dumpBehind.test(text.slice(stop, stop + 6)) || dumpBefore.test(text.slice(Math.max(0, start - 10), start));
const dumpBehind = /^ (?=\d{0,3}[a-f]|[a-f]{1,3}\d)[\da-f]{4}(?:[^\da-z]|$)/;
const dumpBefore = /(?:^|[^\da-z])(?=\d{0,3}[a-f]|[a-f]{1,3}\d)[\da-f]{4} $|\b[\da-f]{8}: $/;

/** Null: of no brand. */
function wordNeeded(digits: string): boolean | null {
  let needed: boolean | null = null;
  for (const { prefix, lengths, withWord } of brands) {
    if (lengths.includes(digits.length) && prefix.test(digits)) return false;
    if (withWord?.includes(digits.length) === true && prefix.test(digits)) needed = true;
  }
  return needed;
}

const standsInPath = (text: string, at: number): boolean => text[at - 1] === '/' || text[at - 1] === '#';

/** A word in the head of a table is of its own column only. */
function isSaidOf(text: string, { context, end }: Label<Context>, at: number): boolean {
  const between = text.slice(end, at);
  if (!/\n[^\n]*[A-Za-z0-9]/.test(between)) return true;
  for (const cell of cellsAbove(text, at, headingReach)) if (labelBefore(text, cell.end, cell.end - cell.start)?.context === context) return true;
  return false;
}

/** Numbers of orders are not written in the groups of a card. */
function isLabelled(text: string, at: number, isGrouped: boolean, wordNeeded: boolean): boolean {
  const label = labelBefore(text, at);
  if (label?.context === 'card' || label?.context === 'person') return true;
  if (!isGrouped && (label?.context === 'order' || label?.context === 'counter') && isSaidOf(text, label, at)) return false;
  return !wordNeeded || hasLabelBefore(text, at, 'card', headingReach);
}
