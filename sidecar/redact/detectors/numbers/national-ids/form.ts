// What a country's numbers of people look like, and how they are told from other numbers.
import { entityForms, isBlank, isHyphen } from '../digits.ts';

export interface NationalId {
  readonly name: string;
  /**
   * Ways to write it that hardly anything else is written in. `#` is a digit, `@` a letter, `*` either; a blank, a
   * hyphen and a bracket stand for all characters of their sort.
   */
  readonly alone: readonly string[];
  /** Ways that count beside a word for such numbers. */
  readonly beside: readonly string[];
  /** Takes letters and digits, letters as capitals. */
  readonly isValid: (compact: string) => boolean;
  /** How the word must end that stands before; where there are no check digits to tell it from another country's. */
  readonly called?: RegExp;
}

/** One way to write one, ready to be looked for. */
export interface Mask {
  readonly pattern: RegExp;
  /** How long its first run of digits may be, and how many characters stand before that. */
  readonly firstRun: { readonly min: number; readonly max: number };
  readonly before: number;
  /** What sort of character stands before that run; empty if none belongs to it. */
  readonly last: string;
  /** What sort of character stands behind that run: `#` for none that belongs to it. */
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

/** The sort of the first character behind the first run of digits that is no digit itself. */
function nextOf(written: string, at: number): string {
  const next = written.charAt(at);
  return next === '' || next === '*' ? '#' : next === ')' ? '(' : next;
}

/** Whether a mask may match where a character of this sort stands before the first run of digits. */
export const mayBeLast = ({ before, last }: Mask, sort: string): boolean => before === 0 || last === sort || (last === ' ' && sort === '+');

/** Whether a mask may match where a character of this sort stands behind the first run of digits. */
export function mayBeNext({ next, firstRun }: Mask, sort: string): boolean {
  if (firstRun.max > firstRun.min || next === sort || next === '#') return true;
  if (sort === '%') return ' -/('.includes(next);
  if (sort === '&') return ' -'.includes(next);
  return sort === '+' ? next === ' ' : sort === '@' && next === 'A';
}

/** The sort of a character of a text; `%`, `&` and `+` for themselves, as they can be several. */
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
