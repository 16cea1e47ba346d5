// Finds the beginning and end of a name that contains a given head word, such as `password` in
// `spring.datasource.password_2`.
import { endsEscape } from '../../boundary.ts';

/** The maximum length of a name before its head word. */
export const nameReach = 40;

// Returns whether the character is a letter of a script without blanks between words, or without capitals. Dashes and
// arrows, whose codes are between those of such letters, are excluded.
const wideFrom = 0x0d00;
export const isWide = (code: number): boolean => code >= wideFrom && (code < 0x2000 || code >= 0x2e80);

/** Returns whether the head word continues with a letter, and is therefore another word: `passage`, `tokens`. */
export function continues(text: string, end: number): boolean {
  const code = text.charCodeAt(end);
  if (!isLetterCode(code) || isWide(text.charCodeAt(end - 1))) return false;
  return !isCapital(text.charAt(end)) || isCapital(text.charAt(end - 1));
}

/**
 * Returns whether the code is a blank of any width. Word processors and messengers insert such blanks between a name,
 * its sign and its value.
 */
export const isBlankInLine = (code: number): boolean =>
  code === 32 || code === 9 || code === 0xa0 || (code >= 0x2000 && code <= 0x200b) || code === 0x202f || code === 0x205f;

const isCapital = (letter: string): boolean => letter !== letter.toLowerCase();
const isLetterCode = (code: number): boolean =>
  (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 0xc0 && code < wideFrom);
const isNameCode = (code: number): boolean => isLetterCode(code) || (code >= 45 && code <= 57 && code !== 47) || code === 95;

const nameRest = /(?:[_.-]?[A-Za-z0-9]{1,16}){0,3}/y;

export function nameEndAfter(text: string, end: number): number {
  nameRest.lastIndex = end;
  nameRest.test(text);
  return Math.max(end, nameRest.lastIndex);
}

/** Returns where the name begins that contains the head word at `at`. Null: the name is longer than `nameReach`. */
export function nameStartBefore(text: string, at: number): number | null {
  if (isWide(text.charCodeAt(at))) return at;
  const before = text.slice(Math.max(0, at - nameReach - 8), at);
  const mayEscape = before.includes('\\') || before.includes('%') || before.includes('\u001b');
  let start = at;
  while (start > 0 && isNameCode(text.charCodeAt(start - 1)) && !(mayEscape && endsEscape(text, start))) {
    start -= 1;
    if (at - start > nameReach) return null;
  }
  while (start < at && '.-'.includes(text.charAt(start))) start += 1;
  return start === at && text.charAt(at).toLowerCase() === 'k' ? ownerBefore(text, at) : start;
}

const ownerWord = /(?:^|[^\p{L}\d])(\p{L}{2,16})[ \t]$/u;

/** Returns the beginning of the word before `key` that names the purpose of the key: `API key`. */
function ownerBefore(text: string, at: number): number {
  const word = text[at - 1] === ' ' ? ownerWord.exec(text.slice(Math.max(0, at - 20), at))?.[1] : undefined;
  return word === undefined ? at : at - 1 - word.length;
}
