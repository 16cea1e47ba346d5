// Defines sets of ASCII characters, and counts consecutive characters of a text that are in a set.

/** A set of ASCII characters. The value at the code of a character is 1 if the character is in the set. */
export type Letters = Uint8Array;

/** Returns the set of the characters that `of` matches. */
export const lettersOf = (of: RegExp): Letters => Uint8Array.from({ length: 128 }, (_, code) => Number(of.test(String.fromCharCode(code))));

export const wordLetters = lettersOf(/[\w-]/);

/** Returns the set of word characters, `-`, and the characters of every character class in `patterns`. */
export const lettersWithin = (patterns: readonly RegExp[]): Letters =>
  lettersOf(new RegExp(['[\\w-]', ...patterns.flatMap(({ source }) => source.match(/\[(?:\\.|[^\]\\])+\]/g) ?? [])].join('|')));

/** Returns how many characters directly before `at` are in the set, at most `max`. */
export function lengthBefore(text: string, at: number, letters: Letters, max: number): number {
  let length = 0;
  while (length < max && length < at && letters[text.charCodeAt(at - length - 1)] === 1) length += 1;
  return length;
}

/** Returns whether at least `min` consecutive characters between `from` and `to` are in the set. */
export function hasRun(text: string, from: number, to: number, letters: Letters, min: number): boolean {
  for (let end = from + min; end <= to; ) {
    const length = lengthBefore(text, end, letters, min);
    if (length === min) return true;
    end += min - length;
  }
  return false;
}
