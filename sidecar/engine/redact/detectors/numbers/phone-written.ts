// Reads how a telephone number is written: the characters before the first digit, the groups of digits, and where each
// group ends.
import { startsWord } from '../../boundary.ts';
import { digitsEnd, escapeLength, isBlank, isHyphen } from './digits.ts';

/**
 * A number as it is written. `groups`: the number of digits of each group, and the position where the group ends. The
 * number could end there.
 */
export interface WrittenNumber {
  readonly start: number;
  readonly digits: string;
  readonly groups: readonly { readonly digits: number; readonly end: number }[];
  /** The characters before its first digit. */
  readonly lead: 'plus' | 'zeros' | 'bracket' | 'none';
}

// E.164 permits 15 digits. It does not count a trunk prefix or two zeros.
export const digitsMax = 18;
const groupsMax = 8;

/**
 * Returns whether more may follow the group of digits that ends at `end`. Most numbers in a text are one short group,
 * and nothing follows.
 */
export const mayContinue = (text: string, end: number): boolean => separatorEnd(text, end, true) > end;

/** Returns the number whose first group of digits is from `at` to `end`. */
export function readNumber(text: string, at: number, end: number): WrittenNumber {
  const { start, lead } = leadOf(text, at);
  const groups: { digits: number; end: number }[] = [{ digits: end - at, end }];
  let digits = text.slice(at, end);
  let last = end;
  while (groups.length < groupsMax) {
    // Brackets enclose an area code, so a number has only one pair of brackets.
    const from = separatorEnd(text, last, lead !== 'bracket' && groups.length < 3);
    const stop = from === last ? from : digitsEnd(text, from);
    if (stop === from || digits.length + stop - from > digitsMax) break;
    digits += text.slice(from, stop);
    groups.push({ digits: stop - from, end: stop });
    last = stop;
  }
  return { start, digits, groups, lead };
}

/**
 * Returns the end of a separator: up to three blanks, hyphens, dots, brackets and slashes, plain, percent-encoded or as
 * entities.
 */
function separatorEnd(text: string, at: number, mayOpen: boolean): number {
  let end = at;
  for (let count = 0; count < 3; count++) {
    const code = text.charCodeAt(end);
    if (!mayOpen && (code === 40 || code === 0xff08)) break;
    if (isBlank(code) || isHyphen(code) || code === 46 || code === 47 || code === 40 || code === 41 || code === 0xff08 || code === 0xff09)
      end += 1;
    else if (code === 37 && /%2[089D]/iy.test(text.slice(end, end + 3))) end += 3;
    else if (code === 38 && escapeLength(text, end) > 0) end += escapeLength(text, end);
    else break;
  }
  return end;
}

function leadOf(text: string, at: number): Pick<WrittenNumber, 'start' | 'lead'> {
  const bracket = text[at - 1] === '(' ? 1 : 0;
  if (text[at - 1 - bracket] === '+' && !isJoined(text, at - 1 - bracket)) return { start: at - 1 - bracket, lead: 'plus' };
  if (text[at - 1] === ' ' && text[at - 2] === '+' && !isJoined(text, at - 2)) return { start: at - 2, lead: 'plus' };
  if (text[at - 3] === '%' && /%2b/i.test(text.slice(at - 3, at))) return { start: at - 3, lead: 'plus' };
  if (text.startsWith('00', at) && text[at + 2] !== '0') return { start: at, lead: 'zeros' };
  return { start: at - bracket, lead: bracket === 1 ? 'bracket' : 'none' };
}

/** Returns whether the `+` belongs to the text before it: `1+415…` is a sum, and `name+1…` an address. */
const isJoined = (text: string, plus: number): boolean => !startsWord(text, plus) || text[plus - 1] === '+';
