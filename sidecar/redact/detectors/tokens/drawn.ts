// Whether letters and digits were drawn by a machine, or are words and names that a person wrote.
import { isPlaceholder } from '../placeholders.ts';

/** Neither a placeholder nor a name in code: `sk_live_KeyFromEnvironment`, `glpat-your-token-goes-here`. */
export const isDrawn = (value: string): boolean => (hasDigitAndLetter(value) || changesCase(value)) && !isPlaceholder(value);

/** The same of what is all capitals and digits, or digits alone, where a word can be a key too. */
export const isNoPlaceholder = (value: string): boolean => !isPlaceholder(value);

/** Capitals, small letters and digits: more than a name of a test or of a style has. */
export const isMixed = (value: string): boolean => isDrawn(value) && /[A-Z]/.test(value) && /[a-z]/.test(value) && /\d/.test(value);

export const hasDigit = (value: string): boolean => /\d/.test(value) && isDrawn(value);

const hasDigitAndLetter = (value: string): boolean => /\d/.test(value) && /[A-Za-z]/.test(value);

// In drawn letters every second one differs in case from the one before; in names in camel case, two of each word's.
const changesMin = 1 / 3;

function changesCase(value: string): boolean {
  let changes = 0;
  for (let at = 1; at < value.length; at++) if (isCapital(value, at) !== isCapital(value, at - 1)) changes += 1;
  return changes >= value.length * changesMin;
}

const isCapital = (value: string, at: number): boolean => value.charCodeAt(at) >= 65 && value.charCodeAt(at) <= 90;
