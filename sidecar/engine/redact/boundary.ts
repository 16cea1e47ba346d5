// Finds where a word begins and ends, in a text that may be prose, code, markup, or any of them escaped in another.
// Letters of other scripts are not part of a token, so `密钥ghp_…` contains a token. The `n` of an escaped `\n` and the
// `3D` of `%3D` are not part of a token either.

const backslash = 92;
const percent = 37;

export const isDigit = (code: number): boolean => code >= 48 && code <= 57;
const isLetter = (code: number): boolean => (code >= 65 && code <= 90) || (code >= 97 && code <= 122);
export const isHex = (code: number): boolean => isDigit(code) || (code >= 65 && code <= 70) || (code >= 97 && code <= 102);

/** ASCII letters and digits. */
export const isWordCode = (code: number): boolean => isDigit(code) || isLetter(code);

/** Returns whether the text at `at` does not continue a word of ASCII letters and digits. */
export const startsWord = (text: string, at: number): boolean => at <= 0 || !isWordCode(text.charCodeAt(at - 1)) || endsEscape(text, at);

/** The same check for the text that ends before `end`. */
export const endsWord = (text: string, end: number): boolean => end >= text.length || !isWordCode(text.charCodeAt(end));

/**
 * Returns where the word begins in a run of letters and digits from `start` to `end`: after an escape that directly
 * precedes it.
 */
export function wordStart(text: string, start: number, end: number): number {
  const before = text.charAt(start - 1);
  if (before === '' || (!isWordCode(before.charCodeAt(0)) && !opensEscape.includes(before))) return start;
  for (let at = start + 1; at <= Math.min(start + escapeLengthMax, end); at++) if (endsEscape(text, at)) return at;
  return start;
}

// The characters before the letters and digits of an escape.
const opensEscape = '\\%=[;\u001b';
// The maximum length of an escape's letters and digits: `u0041`, `31m`.
const escapeLengthMax = 5;

/**
 * Returns whether an escape ends before `at`: `\n`, `\x1b`, `\u0041`, `%3D`, `%253D`, the `=3D` of mails, or the colour
 * of a terminal.
 */
export function endsEscape(text: string, at: number): boolean {
  const last = text.charCodeAt(at - 1);
  const second = text.charCodeAt(at - 2);
  if (second === backslash) return 'nrtbfv0'.includes(String.fromCharCode(last));
  if (last === 109 && isTerminalColour(text, at)) return true;
  if (!isHex(last) || !isHex(second)) return false;
  const third = text.charCodeAt(at - 3);
  if (third === percent) return true;
  if (third === 53 && text.startsWith('%25', at - 5)) return true;
  if (third === 61) return second === 51 && last === 68;
  if (third === 120) return text.charCodeAt(at - 4) === backslash;
  return text.charCodeAt(at - 5) === 117 && text.charCodeAt(at - 6) === backslash && isHex(third) && isHex(text.charCodeAt(at - 4));
}

/** `[31m` after an escape character, either the character itself or in written form. */
function isTerminalColour(text: string, at: number): boolean {
  let start = at - 2;
  while (start > at - 12 && (isDigit(text.charCodeAt(start)) || text[start] === ';')) start -= 1;
  return (
    text[start] === '[' &&
    (text[start - 1] === '\u001b' || endsEscape(text, start) || /\\e$|\\033$/.test(text.slice(Math.max(0, start - 4), start)))
  );
}
