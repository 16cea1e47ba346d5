// Builds JSON with tokens of the requested length, by their content. Used where work is counted, and where time is
// measured (test/long).
export const longTokens: readonly (readonly [name: string, make: (length: number) => string])[] = [
  ['digits', (length) => `[${'1'.repeat(length)}]`],
  ['zeros', (length) => `[1${'0'.repeat(length / 2)}1${'0'.repeat(length / 2)}]`],
  ['backslashes', (length) => `["${'\\\\'.repeat(length / 2)}"]`],
];
