// Defines the written forms of a country's personal numbers, and how they are distinguished from other numbers.
import { entityForms, isBlank, isHyphen } from '../digits.ts';

export interface NationalId {
  readonly name: string;
  /**
   * Written forms that are nearly unique. `#` is a digit, `@` a letter, `*` either. A blank, a hyphen and a bracket
   * each represent all characters of their type.
   */
  readonly alone: readonly string[];
  /** Written forms that count only next to a word for such numbers. */
  readonly labelled: readonly string[];
  /** Returns whether the number is valid. `compact`: its letters and digits only, with letters as capitals. */
  readonly isValid: (compact: string) => boolean;
  /**
   * The text before the number must match this pattern. Present if no check digits distinguish the number from the
   * numbers of other countries.
   */
  readonly called?: RegExp;
}

/** One written form, prepared for the search. */
export interface Mask {
  readonly pattern: RegExp;
  /**
   * `firstRun`: the possible lengths of the first run of digits. `before`: the number of characters before that run.
   */
  readonly firstRun: { readonly min: number; readonly max: number };
  readonly before: number;
  /** The type of the character before the first run of digits. Empty: no such character belongs to the form. */
  readonly last: string;
  /** The type of the character after the first run of digits. `#`: no such character belongs to the form. */
  readonly next: string;
  readonly isAlone: boolean;
  readonly length: number;
  readonly isValid: NationalId['isValid'];
  readonly called: RegExp | null;
}

const sorts: Readonly<Record<string, string>> = {
  '#': '\\d',
  '*': '[A-Za-z0-9]',
  ' ': `(?:[ \\u00a0\\u2007\\u2009\\u202f]|%20|\\+|${entityForms})`,
  '-': `(?:[-\\u2010-\\u2015\\u2212]|%2[Dd]|${entityForms})`,
  '.': '\\.',
  '/': '(?:/|%2F)',
  '(': '(?:\\(|%28|（)',
  ')': '(?:\\)|%29|）)',
  '+': '\\+',
};

export function maskFrom(written: string, isAlone: boolean, { isValid, called }: NationalId): Mask {
  const letter = isAlone ? '[A-Z]' : '[A-Za-z]';
  const pattern = written
    .split('')
    .map((character) => (character === '@' ? letter : (sorts[character] ?? character)))
    .join('');
  const [before = '', run = '', more = ''] = /^([^#]*)(#+)((?:\*[*#]*)?)/.exec(written)?.slice(1) ?? [];
  return {
    pattern: new RegExp(pattern, 'y'),
    firstRun: { min: run.length, max: run.length + more.length },
    before: before.length,
    last: /[@A-Z]$/.test(before) ? '@' : before.slice(-1),
    next: nextOf(written, before.length + run.length),
    length: written.length,
    isAlone,
    isValid,
    called: called ?? null,
  };
}

/**
 * Returns the type of the character after the first run of digits. `at`: its position. `#`: the form ends there, or a
 * letter or digit follows.
 */
function nextOf(written: string, at: number): string {
  const next = written.charAt(at);
  return next === '' || next === '*' ? '#' : next === ')' ? '(' : next;
}

/** Returns whether a mask may match if a character of this type precedes the first run of digits. */
export const mayBeLast = ({ before, last }: Mask, sort: string): boolean => before === 0 || last === sort || (last === ' ' && sort === '+');

/** Returns whether a mask may match if a character of this type follows the first run of digits. */
export function mayBeNext({ next, firstRun }: Mask, sort: string): boolean {
  if (firstRun.max > firstRun.min || next === sort || next === '#') return true;
  if (sort === '%') return ' -/('.includes(next);
  if (sort === '&') return ' -'.includes(next);
  return sort === '+' ? next === ' ' : sort === '@' && next === 'A';
}

/**
 * Returns the type of a character of a text. `%`, `&` and `+` each have their own type, because they can represent
 * several characters.
 */
export function sortOf(code: number): string {
  if (code === 37) return '%';
  if (code === 38) return '&';
  if (code === 43) return '+';
  if (isBlank(code)) return ' ';
  if (isHyphen(code)) return '-';
  if (code === 46) return '.';
  if (code === 47) return '/';
  if ((code | 32) >= 97 && (code | 32) <= 122) return '@';
  return code === 40 || code === 41 || code === 0xff08 || code === 0xff09 ? '(' : '#';
}
