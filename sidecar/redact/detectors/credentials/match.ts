// What the detectors of credentials look at text with: sticky expressions, and what tells a drawn key from a word.
import { endsEscape, isWordCode } from '../../boundary.ts';
import { bitsPerCharacter } from '../entropy.ts';
import { isPlaceholder } from '../placeholders.ts';

/** Where what a sticky expression matches at `at` ends; -1 where it does not match. */
export function endAt(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : -1;
}

/** Where a run ends that is longer than is looked at, if it goes on at `end`; `letters` matches any number of them. */
export const runEnd = (text: string, end: number, letters: RegExp): number => Math.max(end, endAt(letters, text, end));

/** Whether base64url that ends at `at` began less than `reach` characters before: `at` is not in the middle of a long blob. */
export function isNearRunStart(text: string, at: number, reach: number): boolean {
  for (let back = 1; back <= reach; back++) if (back > at || !isBase64UrlCode(text.charCodeAt(at - back))) return true;
  return false;
}

const isBase64UrlCode = (code: number): boolean => isWordCode(code) || code === 45 || code === 95;

/**
 * Whether a name that begins at `at` may have a value of its own: none of `inside`, what such values are made of, stands
 * before it. So a text that repeats a name is looked through once, and not once for each.
 */
export function isOutside(text: string, at: number, inside: RegExp): boolean {
  if (at <= 0 || !inside.test(text.charAt(at - 1))) return true;
  if (!endsEscape(text, at)) return false;
  // What an encoded character stands for, if it stands for one by itself.
  const code = text[at - 3] === '%' ? Number.parseInt(text.slice(at - 2, at), 16) : 0;
  return code < 128 && !inside.test(String.fromCharCode(code));
}

/** Of what stands behind a name that has a value, the first: detectors ask only there, and not in every sentence about it. */
export const signs = ['"', "'", '`', ':', '=', '>', '\\', '%3', '&', ' =', ' :'];

// Between a name and its value, in code, headers, JSON, YAML, query strings and markup, escaped or not.
const assignment = /(?:[ \t"'`\\:=>,([{]|&quot;|&#3[49];|%20|%22|%3A|%3D|\+){1,24}/iy;

/** Where the value of a name that ends at `end` begins, -1 where it has none: `name: `, `"name", "`, `"key": "name", "value": "`. */
export function valueAfter(text: string, end: number): number {
  const first = endAt(assignment, text, end);
  return first !== -1 && /^value/i.test(text.slice(first, first + 5)) ? endAt(assignment, text, first + 5) : first;
}

/** Whether nobody made a value up to be read: no word, no placeholder, no name of something in a program. */
export function looksDrawn(value: string, lengthMin: number): boolean {
  if (value.length < lengthMin || !/[A-Za-z]/.test(value)) return /^\d{16,}$/.test(value) && !isPlaceholder(value);
  return (/\d/.test(value) || hasMixedCase(value)) && bitsPerCharacter(value.slice(0, 256)) >= 2.5 && !isPlaceholder(value);
}

/** Capitals and small letters as only chance mixes them: `abCdEfgH`, and not `getToken` or `ACCESS_TOKEN`. */
const hasMixedCase = (value: string): boolean => value.length >= 20 && (value.match(/[a-z][A-Z]/g)?.length ?? 0) >= value.length / 8;

/** What base64, of either alphabet, stands for. Null where it is no UTF-8 without control characters. */
export function decodedText(base64: string): string | null {
  const decoded = Buffer.from(base64, 'base64').toString('utf8');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they tell binary data from text
  return decoded.length === 0 || /[\u0000-\u0008\u000e-\u001f\ufffd]/.test(decoded) ? null : decoded;
}
