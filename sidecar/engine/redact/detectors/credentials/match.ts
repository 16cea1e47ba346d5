// Provides helpers for the detectors of credentials: sticky expressions, and tests that distinguish a generated key
// from a word.
import { endsEscape, isWordCode } from '../../boundary.ts';
import { bitsPerCharacter } from '../entropy.ts';
import { isPlaceholder } from '../placeholders.ts';

/** Returns the end of the match of a sticky expression at `at`, or -1 if it does not match. */
export function endAt(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : -1;
}

/**
 * Returns the end of a run that may be longer than the part that was searched. That part ends at `end`. `letters`
 * matches any number of characters of the run.
 */
export const runEnd = (text: string, end: number, letters: RegExp): number => Math.max(end, endAt(letters, text, end));

/**
 * Returns whether fewer than `reach` base64url characters directly precede `at`. If not, `at` is in the middle of a
 * long blob.
 */
export function isNearRunStart(text: string, at: number, reach: number): boolean {
  for (let back = 1; back <= reach; back++) if (back > at || !isBase64UrlCode(text.charCodeAt(at - back))) return true;
  return false;
}

const isBase64UrlCode = (code: number): boolean => isWordCode(code) || code === 45 || code === 95;

/**
 * Returns whether a name that begins at `at` may have a value of its own. `inside` matches the characters of such
 * values. If it matches the character before the name, the name is part of another value and has none of its own. Thus
 * a text that repeats a name is read once, and not once for each name.
 */
export function isOutside(text: string, at: number, inside: RegExp): boolean {
  if (at <= 0 || !inside.test(text.charAt(at - 1))) return true;
  if (!endsEscape(text, at)) return false;
  // The code of the percent-encoded character before `at`. 0: there is none.
  const code = text[at - 3] === '%' ? Number.parseInt(text.slice(at - 2, at), 16) : 0;
  return code < 128 && !inside.test(String.fromCharCode(code));
}

/**
 * The first characters after a name that has a value. Detectors are called only where a name is followed by one of
 * these, and not in every sentence that contains the name.
 */
export const signs = ['"', "'", '`', ':', '=', '>', '\\', '%3', '&', ' =', ' :'];

// The text between a name and its value, in code, headers, JSON, YAML, query strings and markup, escaped or not.
const assignment = /(?:[ \t"'`\\:=>,([{]|&quot;|&#3[49];|%20|%22|%3A|%3D|\+){1,24}/iy;

/**
 * Returns the start of the value of a name that ends at `end`, or -1 if the name has no value: `name: `, `"name", "`,
 * `"key": "name", "value": "`.
 */
export function valueAfter(text: string, end: number): number {
  const first = endAt(assignment, text, end);
  return first !== -1 && /^value/i.test(text.slice(first, first + 5)) ? endAt(assignment, text, first + 5) : first;
}

/** Returns whether a machine generated the value: it is not a word, not a placeholder, and not a name in a program. */
export function looksDrawn(value: string, lengthMin: number): boolean {
  if (value.length < lengthMin || !/[A-Za-z]/.test(value)) return /^\d{16,}$/.test(value) && !isPlaceholder(value);
  return (/\d/.test(value) || hasMixedCase(value)) && bitsPerCharacter(value.slice(0, 256)) >= 2.5 && !isPlaceholder(value);
}

/** Returns whether capitals and small letters are in a random mix: `abCdEfgH`, and not `getToken` or `ACCESS_TOKEN`. */
const hasMixedCase = (value: string): boolean => value.length >= 20 && (value.match(/[a-z][A-Z]/g)?.length ?? 0) >= value.length / 8;

/** Decodes base64, of either alphabet. Null: the result is not UTF-8, or contains control characters. */
export function decodedText(base64: string): string | null {
  const decoded = Buffer.from(base64, 'base64').toString('utf8');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they tell binary data from text
  return decoded.length === 0 || /[\u0000-\u0008\u000e-\u001f\ufffd]/.test(decoded) ? null : decoded;
}
