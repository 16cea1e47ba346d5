// Finds telephone numbers. An international number is found anywhere. A national number is found next to a word for it,
// or in a form that no other number has. Timestamps, versions and numbers of orders are excluded. Numbers with 555 are
// excluded too, because they are not in use.
import { isWordCode, startsWord } from '../../boundary.ts';
import type { Detector } from '../../detector.ts';
import { labelBefore } from '../context/context.ts';
import { isDigit, isTypedRow } from './digits.ts';
import { isInternational, isNorthAmerican, isWrittenAsAtHome } from './phone-plans.ts';
import { digitsMax, mayContinue, readNumber, type WrittenNumber } from './phone-written.ts';

export const phone: Detector = {
  kind: 'phone',
  anchors: 'digits',
  reach: { before: 96, after: 256 },
  find: (text, at, end, found) => {
    if (end - at > digitsMax || (end - at < digitsMin && !mayContinue(text, end)) || text[at - 1] === '%' || !mayStart(text, at)) return;
    const written = readNumber(text, at, end);
    if (written.digits.length < digitsMin || isQuad(text, at)) return;
    const stop = written.lead === 'plus' || written.lead === 'zeros' ? internationalEnd(text, written) : null;
    const last = stop ?? (written.lead === 'plus' ? null : nationalEnd(text, at, written));
    if (last !== null && !(written.lead !== 'plus' && isOther(text, written.start, last))) found(written.start, last);
  },
};

// A date at the end, as in a list of changes: `1.9.2 / 08.11.2020`.
const date = /(?:^|[ /])(?:0?[1-9]|[12]\d|3[01])([./])(?:0?[1-9]|1[0-2])\1(?:19|20)\d\d$/;
// The digits are bytes of a dump: inside `<Buffer 28 13 de 02 00 …>`, or next to a byte in hex.
const dumpBefore = /<Buffer [ 0-9a-f]{0,48}$|(?:^|[ \t])(?:[a-f]\d|\d[a-f]) $/i;
const dumpAfter = /^ (?:[a-f]\d|\d[a-f])(?![0-9a-z])/i;
// Limits of integers in programs.
const bounds = new Set([28, 29, 30, 31, 32, 33].flatMap((bits) => [2 ** bits - 1, 2 ** bits, 2 ** bits + 1]).map(String));

const countOrYears = /^[1-9]\d?0{5,}$|^(?:19|20)\d\d[-–](?:19|20)\d\d$/;

function isOther(text: string, start: number, end: number): boolean {
  const written = text.slice(start, end);
  return (
    bounds.has(written) ||
    countOrYears.test(written) ||
    date.test(written) ||
    (/^\d\d(?: \d\d)+$/.test(written) &&
      (dumpBefore.test(text.slice(Math.max(0, start - 56), start)) || dumpAfter.test(text.slice(end, end + 4))))
  );
}

const digitsMin = 7;

/**
 * Returns whether a number may begin at `at`. A number does not begin inside a word, after a point, or within another
 * number.
 */
function mayStart(text: string, at: number): boolean {
  const before = text.charAt(at - 1);
  if (before === '+') return true;
  if (before === '(') return !isDigit(text.charCodeAt(at - 2));
  if (!startsWord(text, at)) return false;
  return (
    !('.-,/:_ \u00a0'.includes(before) && before !== '' && isDigit(text.charCodeAt(at - 2)) && !isList(text, at)) &&
    !('-_'.includes(before) && before !== '' && /[A-Za-z]/.test(text.charAt(at - 2)))
  );
}

/** Returns whether the digits are an IP address or a version. */
function isQuad(text: string, at: number): boolean {
  quad.lastIndex = at;
  return quad.test(text);
}

const quad = /(?!1\.\d{3}\.\d{3}\.\d{4})\d{1,5}(?:\.\d{1,5}){3}(?!\.?\d)/y;

/**
 * Returns whether the number may be the next one of a list: a comma precedes it, or a blank that does not follow a
 * digit.
 */
const isList = (text: string, at: number): boolean => text[at - 1] === ',' || (text[at - 1] === ' ' && !isDigit(text.charCodeAt(at - 2)));

/** Returns the end of the longest part that is a valid international number. Null: no part is valid. */
function internationalEnd(text: string, { digits, groups, lead }: WrittenNumber): number | null {
  let count = digits.length;
  for (let group = groups.length - 1; group >= 0; group--) {
    const { end, digits: length } = groups[group] ?? { end: 0, digits: 0 };
    const international = digits.slice(lead === 'zeros' ? 2 : 0, count);
    count -= length;
    if (!endsNumber(text, end) || (lead === 'zeros' && group === 0)) continue;
    const isNumber = isInternational(international) || (groups.length > 1 && isInternational(withoutTrunk(international)));
    if (isNumber && !isFictional(international)) return end;
  }
  return null;
}

/**
 * Removes the 0 in `+44 (0)20`, which is only for national calls. Also removes the 1 that Mexico's mobile numbers had
 * until 2019.
 */
const withoutTrunk = (international: string): string =>
  international.replace(/^521(?=\d{10}$)|^(\d{1,3}?)0(?=\d{6})/, (_, code?: string) => code ?? '52');

function nationalEnd(text: string, at: number, written: WrittenNumber): number | null {
  const { digits, groups } = written;
  let label: ReturnType<typeof labelBefore> | undefined;
  let count = digits.length;
  for (let group = groups.length - 1; group >= 0; group--) {
    const { end, digits: length } = groups[group] ?? { end: 0, digits: 0 };
    const national = digits.slice(0, count);
    count -= length;
    if (national.length < digitsMin || national.length > 15 || !endsNumber(text, end) || isFictional(national) || isTypedRow(national))
      continue;
    const shape = groups.slice(0, group + 1).map((one) => one.digits);
    label = label === undefined ? labelBefore(text, written.start) : label;
    if (
      label?.context === 'phone' && isListOfNumbers(text.slice(label.end, written.start))
        ? isPlausible(national, shape)
        : isDistinctive(text, at, written, national, shape) && (label === null || !isCounted(label.context))
    )
      return end;
  }
  return null;
}

const isCounted = (context: string): boolean => context === 'order' || context === 'counter';

/**
 * Returns whether the text between a word and its number contains no other numbers, or only numbers of the same list.
 */
const isListOfNumbers = (between: string): boolean => !/\d/.test(between) || /^[\d\s()+\-./,;|&"'[\]]*$/.test(between);

/**
 * Returns whether digits next to a word for telephone numbers can be a telephone number. This is true for any number
 * that can be dialled and is not a date.
 */
function isPlausible(digits: string, shape: readonly number[]): boolean {
  const most = digits.startsWith('0') ? 12 : /^[178]/.test(digits) ? 11 : 10;
  if (digits.length < 7) return false;
  if (digits.startsWith('00')) return shape.length === 1 && isInternational(digits.slice(2));
  if (isBrazilian(digits, shape) || isNordic(digits, shape)) return true;
  if (digits.length > most) return shape.length === 1 && digits.length <= 15 && isInternational(digits);
  if (shape.length === 1) return !isMoment.test(digits);
  return !(isMoment.test(digits) && shape[0] === 4) && !(shape.length === 4 && shape.every((length) => length <= 3) && digits.length < 9);
}

// A date, or seconds since 1970. No country has numbers of ten digits that begin with 1.
const isMoment = /^(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])|^1[4-9]\d{8}$/;

/** Brazil: `(21) 96610-0688`: an area code without a 0, and then nine digits. */
const isBrazilian = (digits: string, shape: readonly number[]): boolean =>
  digits.length === 11 && shape.length > 1 && shape[0] === 2 && isInternational(`55${digits}`);

/** `91 47 63 82`, the form of all numbers in Norway and Denmark. */
const isNordic = (digits: string, shape: readonly number[]): boolean =>
  shape.join('-') === '2-2-2-2' && ['47', '45'].some((code) => isInternational(code + digits));

/** `8 (916) 478-57-88`: in Russia and Kazakhstan, 8 is dialled first. */
const isRussian = (digits: string, shape: readonly number[]): boolean =>
  /^[78]/.test(digits) && shape.join('-') === '1-3-3-2-2' && isInternational(`7${digits.slice(1)}`);

function isDistinctive(text: string, at: number, { lead }: WrittenNumber, digits: string, shape: readonly number[]): boolean {
  if (isAmericanForm(text, at, lead, shape, digits)) return isNorthAmerican(digits.slice(-10));
  if (isRussian(digits, shape) || (lead === 'bracket' && shape.join('-') === '2-5-4' && isBrazilian(digits, shape))) return true;
  if (
    lead === 'zeros' ||
    !/^0[1-9]/.test(digits) ||
    digits.length < 9 ||
    shape.length < (lead === 'bracket' || digits.length >= 10 ? 2 : 3)
  )
    return false;
  return (shape[0] ?? 0) > 1 && !isCounting(digits, shape) && isWrittenAsAtHome(digits, shape);
}

/**
 * Returns whether the digits are no telephone number: `03 18 24 31 42` is a list of drawn or counted numbers, and
 * `017-2024-0042` contains a year.
 */
const isCounting = (digits: string, shape: readonly number[]): boolean =>
  shape.length > 3
    ? shape.every((_, pair) => pair === 0 || digits.slice(pair * 2 - 2, pair * 2) <= digits.slice(pair * 2, pair * 2 + 2))
    : /^\d{3}(?:19\d\d|20[0-3]\d)\d{4}$/.test(digits);

/**
 * Returns whether the number is written as in North America: `(415) 762-2671`, `415-762-2671`, `415.762.2671`, `415 762
 * 2671`, `1-415-762-2671`.
 */
function isAmericanForm(text: string, at: number, lead: WrittenNumber['lead'], shape: readonly number[], digits: string): boolean {
  const written = shape.join('-');
  if (written !== '3-3-4' && !(written === '1-3-3-4' && digits.startsWith('1'))) return false;
  if (lead === 'bracket') return text[at + 3] === ')';
  const form = /(?:1[-. ])?\(?\d{3}(?:-\d{3}-\d{4}|\.\d{3}\.\d{4}|\) ?\d{3}[- ]\d{4}| \d{3} \d{4}(?! ?\d))/y;
  form.lastIndex = at;
  return form.test(text);
}

function endsNumber(text: string, end: number): boolean {
  const next = text.charCodeAt(end);
  if (isWordCode(next) || next === 95) return false;
  return !((next === 45 || next === 46 || next === 47) && isDigit(text.charCodeAt(end + 1)));
}

/**
 * Returns whether the number is not real. Exchange 555 of North America is reserved for fiction and directories.
 * `5551234567` is the most frequent number in documents.
 */
const isFictional = (digits: string): boolean => /^(?:1?\d{3})?555\d{4}$|^1?5551234567$/.test(digits);
