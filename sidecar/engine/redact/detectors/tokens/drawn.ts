// Tests whether a machine generated letters and digits. Otherwise they are words and names that a person wrote.
import { isPlaceholder } from '../placeholders.ts';

/**
 * Returns whether a machine generated the value. Placeholders and names in code are not generated:
 * `sk_live_KeyFromEnvironment`, `glpat-your-token-goes-here`.
 */
export const isDrawn = (value: string): boolean => (hasDigitAndLetter(value) || changesCase(value)) && !isPlaceholder(value);

/**
 * Returns whether the value is no placeholder. Used for values that have only capitals and digits, or only digits. Such
 * a value can be a key even if it looks like a word.
 */
export const isNoPlaceholder = (value: string): boolean => !isPlaceholder(value);

/** Returns whether the value has capitals, small letters and digits. Names of tests or styles do not have all three. */
export const isMixed = (value: string): boolean => isDrawn(value) && /[A-Z]/.test(value) && /[a-z]/.test(value) && /\d/.test(value);

export const hasDigit = (value: string): boolean => /\d/.test(value) && isDrawn(value);

const hasDigitAndLetter = (value: string): boolean => /\d/.test(value) && /[A-Za-z]/.test(value);

// The minimum share of letters whose case differs from the case of the letter before. In generated text this share is
// about a half. In camel-case names, only two letters of each word differ in this way.
const changesMin = 1 / 3;

function changesCase(value: string): boolean {
  let changes = 0;
  for (let at = 1; at < value.length; at++) if (isCapital(value, at) !== isCapital(value, at - 1)) changes += 1;
  return changes >= value.length * changesMin;
}

const isCapital = (value: string, at: number): boolean => value.charCodeAt(at) >= 65 && value.charCodeAt(at) <= 90;
