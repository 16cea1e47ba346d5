// R1, as CI runs it: few kills and one seed. It runs only where TOLLGATE_TEST_KILLS says how many kills. `npm run test:chaos -- --kills 200`
// is the long form, which also holds the times that are promised.
import { expect, test } from 'vitest';
import { reportLines } from './kills/report.ts';
import { runKills } from './kills/run.ts';

/** Another one tells another story: `TOLLGATE_TEST_SEED`. */
const seed = Number(process.env['TOLLGATE_TEST_SEED'] ?? 7);
const kills = Number(process.env['TOLLGATE_TEST_KILLS']);

test(`${kills} kills under load: every answered call has one entry, every entry a call, and all that must be true is`, {
  timeout: 300_000,
}, async () => {
  expect(Number.isInteger(kills) && kills > 0, 'TOLLGATE_TEST_KILLS is a whole number of at least 1').toBe(true);
  const outcome = await runKills({ seed, kills, ms: kills * 1_000 }, new AbortController().signal);
  expect(outcome.violations, reportLines(outcome).join('\n')).toEqual([]);
  expect(outcome.findings.answered).toBeGreaterThan(100);
  expect([...outcome.kills.values()].reduce((sum, each) => sum + each)).toBe(kills);
});
