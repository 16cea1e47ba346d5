// How many generated cases a run checks. CI checks ten thousand and says so by `TOLLGATE_TEST_CASES`; a developer waits
// for a quarter of them, and `npm run test:long` checks a million.
const inCi = 10_000;

export const caseCount = Number(process.env['TOLLGATE_TEST_CASES'] ?? inCi / 4);

/** The number of cases of a property that has `count` of them in CI. A longer run than CI's does not raise it. */
export const casesOf = (count: number): number => Math.ceil(count * Math.min(1, caseCount / inCi));
