// Sets of ASCII characters, and how far text is made of them.

/** By character code: 1 for those in the set. */
export type Letters = Uint8Array;

/** `of` matches single characters. */
export const lettersOf = (of: RegExp): Letters => Uint8Array.from({ length: 128 }, (_, code) => Number(of.test(String.fromCharCode(code))));

export const wordLetters = lettersOf(/[\w-]/);

/** Those of words, and those of every class in patterns. */
export const lettersWithin = (patterns: readonly RegExp[]): Letters =>
  lettersOf(new RegExp(['[\\w-]', ...patterns.flatMap(({ source }) => source.match(/\[(?:\\.|[^\]\\])+\]/g) ?? [])].join('|')));

/** How many characters before `at` are all in the set; not counted beyond `max`. */
export function lengthBefore(text: string, at: number, letters: Letters, max: number): number {
  let length = 0;
  while (length < max && length < at && letters[text.charCodeAt(at - length - 1)] === 1) length += 1;
  return length;
}

/** Whether between `from` and `to` at least `min` of them stand together. */
export function hasRun(text: string, from: number, to: number, letters: Letters, min: number): boolean {
  for (let end = from + min; end <= to; ) {
    const length = lengthBefore(text, end, letters, min);
    if (length === min) return true;
    end += min - length;
  }
  return false;
}
