// Converts between cents and the unit of money of runs: integers in µ¢, a millionth of a cent. A price of n cents for a
// million tokens is n µ¢ for each token.

const microcentsPerCent = 1_000_000;

/** `cents` can have up to six decimals. */
export const microcentsFromCents = (cents: number): number => Math.round(cents * microcentsPerCent);

/** The result can have fractions. */
export const centsFromMicrocents = (microcents: number): number => microcents / microcentsPerCent;
