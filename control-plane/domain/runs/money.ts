// Money of runs: integers of µ¢, a millionth of a cent. A price of so many cents a million tokens is as many µ¢ a token.

const microcentsPerCent = 1_000_000;

/** `cents` may have up to six decimals. */
export const microcentsFromCents = (cents: number): number => Math.round(cents * microcentsPerCent);

/** With fractions. */
export const centsFromMicrocents = (microcents: number): number => microcents / microcentsPerCent;
