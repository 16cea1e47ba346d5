// Reads digits in the groups that people write: `4111 1111`, `030/29 70`, `5544%200166`.

export interface Group {
  readonly start: number;
  readonly end: number;
}

export interface DigitGroups {
  readonly groups: readonly Group[];
  /**
   * The separator between the groups. It is the same between all of them. Empty: no separator follows the first group.
   */
  readonly separator: string;
}

export const isDigit = (code: number): boolean => code >= 48 && code <= 57;

/** Returns whether the code is a blank. These are the blanks of all widths that occur in numbers. */
export const isBlank = (code: number): boolean => code === 32 || code === 0xa0 || code === 0x2007 || code === 0x2009 || code === 0x202f;

/** Returns whether the code is a hyphen or dash, in any form that word processors produce. */
export const isHyphen = (code: number): boolean => code === 45 || (code >= 0x2010 && code <= 0x2015) || code === 0x2212;

/** Returns the groups of digits from `at` on. The first group ends at `end`. All groups have the same separator. */
export function readGroups(text: string, at: number, end: number, groupsMax: number): DigitGroups {
  const groups: Group[] = [{ start: at, end }];
  const separator = text.slice(end, end + separatorLength(text, end));
  let last = end;
  while (separator !== '' && groups.length < groupsMax && text.startsWith(separator, last)) {
    const start = last + separator.length;
    const stop = digitsEnd(text, start);
    if (stop === start) break;
    groups.push({ start, end: stop });
    last = stop;
  }
  return { groups, separator };
}

// Longer than any group in a number.
const groupLengthMax = 24;

export function digitsEnd(text: string, start: number): number {
  let end = start;
  while (end - start < groupLengthMax && isDigit(text.charCodeAt(end))) end += 1;
  return end;
}

/**
 * Returns the length of a separator: a hyphen or a dot, with or without blanks around it; one or two blanks; a `+`; or
 * an escaped blank or hyphen.
 */
function separatorLength(text: string, at: number): number {
  const escaped = escapeLength(text, at);
  if (escaped > 0) return escaped;
  let length = isBlank(text.charCodeAt(at)) ? 1 : 0;
  const code = text.charCodeAt(at + length);
  if (code === 46 || isHyphen(code) || (length === 0 && code === 43)) length += 1;
  return length > 0 && isBlank(text.charCodeAt(at + length)) ? length + 1 : length;
}

/**
 * Returns the length of an escaped blank or hyphen: `%20` and `%2D`; in markup `&nbsp;` and `&#8211;`. 0: there is
 * none.
 */
export function escapeLength(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code === 37) return text[at + 1] === '2' && (text[at + 2] === '0' || text[at + 2] === 'D' || text[at + 2] === 'd') ? 3 : 0;
  if (code !== 38) return 0;
  entity.lastIndex = at;
  return entity.test(text) ? entity.lastIndex - at : 0;
}

/** Blanks, hyphens and dashes as HTML entities by name and by number. */
export const entityForms =
  '&(?:nbsp|thinsp|ensp|emsp|hyphen|ndash|mdash|#(?:32|160|8194|8195|8199|8201|8208|8209|8211|8212|8239)|#x(?:20|a0|200[279]|201[0-4]|202f));';
const entity = new RegExp(entityForms, 'iy');

/** Returns the digits of the first `count` groups. */
export function digitsOf(text: string, groups: readonly Group[], count: number): string {
  let digits = '';
  for (const { start, end } of groups.slice(0, count)) digits += text.slice(start, end);
  return digits;
}

const counted = ['01234567890123456789', '98765432109876543210'];

/**
 * Returns whether the digits are a simple row that a person typed, and no real number: `0000…`, `123456789`,
 * `12341234…`.
 */
export function isTypedRow(digits: string): boolean {
  // All digits before the check digit are equal.
  if (isRepeated(digits.slice(0, -1), 1)) return true;
  for (let period = 1; period <= 4; period++) if (isRepeated(digits, period)) return true;
  const length = Math.min(digits.length, 10);
  return counted.some((row) => row.includes(digits.slice(0, length)) || row.includes(digits.slice(-length)));
}

function isRepeated(digits: string, period: number): boolean {
  for (let at = period; at < digits.length; at++) if (digits.charCodeAt(at) !== digits.charCodeAt(at - period)) return false;
  return true;
}
