// Tests whether a machine generated letters and digits, or they are words and names that a person wrote.
import { isPlaceholder } from '../placeholders.ts';

/** Neither a placeholder nor a name in code: `sk_live_KeyFromEnvironment`, `glpat-your-token-goes-here`. */
export const isDrawn = (value: string): boolean => (hasDigitAndLetter(value) || changesCase(value)) && !isPlaceholder(value);

/** The same test for values of capitals and digits only, or digits only, where a word can be a key too. */
export const isNoPlaceholder = (value: string): boolean => !isPlaceholder(value);

/** Capitals, small letters and digits: names of tests or styles do not have all three. */
export const isMixed = (value: string): boolean => isDrawn(value) && /[A-Z]/.test(value) && /[a-z]/.test(value) && /\d/.test(value);

export const hasDigit = (value: string): boolean => /\d/.test(value) && isDrawn(value);

const hasDigitAndLetter = (value: string): boolean => /\d/.test(value) && /[A-Za-z]/.test(value);

// In generated letters, every second one differs in case from the previous one. In camel-case names, two letters of
// each word do.
const changesMin = 1 / 3;

function changesCase(value: string): boolean {
  let changes = 0;
  for (let at = 1; at < value.length; at++) if (isCapital(value, at) !== isCapital(value, at - 1)) changes += 1;
  return changes >= value.length * changesMin;
}

const isCapital = (value: string, at: number): boolean => value.charCodeAt(at) >= 65 && value.charCodeAt(at) <= 90;
