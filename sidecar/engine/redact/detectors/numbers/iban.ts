// Finds international bank account numbers (IBAN). The country must be one that uses IBANs. The length must be correct
// for that country, and the check digits must be correct. The characters may be in groups, and letters may be capitals
// or small letters.
import isIBAN from 'validator/lib/isIBAN.js';
import { endsWord, startsWord } from '../../boundary.ts';
import type { Detector } from '../../detector.ts';
import { escapeLength, isBlank, isDigit } from './digits.ts';

// A CommonJS module: Node imports all exports as an object, and vitest imports the default export.
const hasForm: (compact: string) => boolean = 'default' in isIBAN ? isIBAN.default : isIBAN;

// ISO 13616: the shortest length in use (Norway), and the maximum length.
const lengthMin = 15;
const lengthMax = 34;
const headLength = 4;

// Example numbers from the standard's register and from public help pages.
const published = new Set(
  (
    'GB29NWBK60161331926819 GB82WEST12345698765432 GB33BUKB20201555555555 DE89370400440532013000 FR1420041010050500013M02606 NL91ABNA0417164300 ES9121000418450200051332 ' +
    'IT60X0542811101000000123456 CH9300762011623852957 BE68539007547034 AT611904300234573201 SE4550000000058398257466 NO9386011117947 DK5000400440116243 FI2112345600000785 ' +
    'PL61109010140000071219812874 PT50000201231234567890154 IE29AIBK93115212345678 LU280019400644750000 DE75512108001245126199 NL20INGB0001234567 FR7630006000011234567890189'
  ).split(' '),
);

export const iban: Detector = {
  kind: 'iban',
  anchors: 'digits',
  reach: { before: 8, after: 136 },
  find: (text, at, end, found) => {
    // In `DE 21 7005 …`, a blank separates the country from the two check digits.
    const gap = end - at === 2 && isBlank(text.charCodeAt(at - 1)) ? 1 : 0;
    const start = at - 2 - gap;
    if (start < 0 || !isLetter(text.charCodeAt(start)) || !isLetter(text.charCodeAt(start + 1)) || end - at < 2 || !startsWord(text, start))
      return;
    const stop = ibanEnd(text, start, at);
    if (stop !== null) found(start, stop);
  },
};

const isLetter = (code: number): boolean => (code | 32) >= 97 && (code | 32) <= 122;

// For the check, the first four characters are moved to the end. There they are six digits: each of the two letters
// becomes two digits, and the two check digits follow.
const headShift = 1_000_000 % 97;

/**
 * Returns the end of the number that begins at `start` and whose check digits are at `check`. Null: there is no number.
 */
function ibanEnd(text: string, start: number, check: number): number | null {
  const head = [start, start + 1, check, check + 1].reduce((rest, place) => remainderAfter(rest, text.charCodeAt(place)), 0);
  let rest = 0;
  let at = check + 2;
  for (let length = headLength + 1; length <= lengthMax; length++) {
    if (!isAlphanumeric(text.charCodeAt(at))) at += separatorLength(text, at);
    const code = text.charCodeAt(at);
    if (!isAlphanumeric(code)) return null;
    rest = remainderAfter(rest, code);
    at += 1;
    // The form is checked after the check digits. It is rarely checked, because by chance the check digits match for
    // only one length in a hundred.
    if (length >= lengthMin && (rest * headShift + head) % 97 === 1 && endsWord(text, at)) {
      const compact = compactOf(text.slice(start, at));
      if (hasForm(compact)) return published.has(compact) ? null : at;
    }
  }
  return null;
}

const isAlphanumeric = (code: number): boolean => isDigit(code) || isLetter(code);

/** Returns the length of a separator: one or two blanks, a hyphen, a dot, or a blank that is escaped as in a URL. */
function separatorLength(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code === 45 || code === 46 || code === 43) return 1;
  if (isBlank(code)) return isBlank(text.charCodeAt(at + 1)) ? 2 : 1;
  return escapeLength(text, at);
}

const compactOf = (written: string): string =>
  written
    .replaceAll(/%20|&#?\w{2,6};/g, '')
    .replaceAll(/[^A-Za-z0-9]/g, '')
    .toUpperCase();

/** Returns the remainder by 97 of the digits so far with this character appended. Letters count as 10 to 35. */
const remainderAfter = (rest: number, code: number): number => (isDigit(code) ? rest * 10 + code - 48 : rest * 100 + (code | 32) - 87) % 97;
