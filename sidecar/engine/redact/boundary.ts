// Finds where a word begins and ends, in a text that may be prose, code, markup, or any of them escaped in another.
// Letters of other scripts are not part of a token, so `密钥ghp_…` contains a token. The `n` of an escaped `\n` and the
// `3D` of `%3D` are not part of a token either.

const backslash = 92;
const percent = 37;

export const isDigit = (code: number): boolean => code >= 48 && code <= 57;
const isLetter = (code: number): boolean => (code >= 65 && code <= 90) || (code >= 97 && code <= 122);
export const isHex = (code: number): boolean => isDigit(code) || (code >= 65 && code <= 70) || (code >= 97 && code <= 102);

/** Returns whether the code is an ASCII letter or digit. */
export const isWordCode = (code: number): boolean => isDigit(code) || isLetter(code);

/**
 * Returns whether a word of ASCII letters and digits may begin at `at`: the characters before `at` do not belong to the
 * same word.
 */
export const startsWord = (text: string, at: number): boolean => at <= 0 || !isWordCode(text.charCodeAt(at - 1)) || endsEscape(text, at);

/** Returns whether a word that ends before `end` is complete: no ASCII letter or digit follows. */
export const endsWord = (text: string, end: number): boolean => end >= text.length || !isWordCode(text.charCodeAt(end));

/**
 * Returns where the word begins in the letters and digits from `start` to `end`. If the first of these letters and
 * digits belong to an escape, the word begins after the escape.
 */
export function wordStart(text: string, start: number, end: number): number {
  const before = text.charAt(start - 1);
  if (before === '' || (!isWordCode(before.charCodeAt(0)) && !opensEscape.includes(before))) return start;
  for (let at = start + 1; at <= Math.min(start + escapeLengthMax, end); at++) if (endsEscape(text, at)) return at;
  return start;
}

// The characters that may precede the letters and digits of an escape.
const opensEscape = '\\%=[;\u001b';
// The maximum length of an escape's letters and digits: `u0041`, `31m`.
const escapeLengthMax = 5;

/**
 * Returns whether an escape ends before `at`: `\n`, `\x1b`, `\u0041`, `%3D`, `%253D`, the `=3D` of mails, or a colour
 * code of a terminal.
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

/**
 * Returns whether a colour code such as `[31m` ends before `at`. The code must follow an escape character. This is the
 * character itself or its written form.
 */
function isTerminalColour(text: string, at: number): boolean {
  let start = at - 2;
  while (start > at - 12 && (isDigit(text.charCodeAt(start)) || text[start] === ';')) start -= 1;
  return (
    text[start] === '[' &&
    (text[start - 1] === '\u001b' || endsEscape(text, start) || /\\e$|\\033$/.test(text.slice(Math.max(0, start - 4), start)))
  );
}
