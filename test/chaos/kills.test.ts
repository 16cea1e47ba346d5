// R1, as CI runs it: few kills and one seed. It runs only where TOLLGATE_TEST_KILLS gives the number of kills. `npm run
// test:chaos -- --kills 200` is the long form, which also checks the promised times.
import { expect, test } from 'vitest';
import { reportLines } from './kills/report.ts';
import { runKills } from './kills/run.ts';

/** Another seed makes another sequence of faults: `TOLLGATE_TEST_SEED`. */
const seed = Number(process.env['TOLLGATE_TEST_SEED'] ?? 7);
const kills = Number(process.env['TOLLGATE_TEST_KILLS']);

test(`${kills} kills under load: every answered call has one entry, every entry belongs to a call, and all invariants hold`, {
  timeout: 300_000,
}, async () => {
  expect(Number.isInteger(kills) && kills > 0, 'TOLLGATE_TEST_KILLS is a whole number of at least 1').toBe(true);
  const outcome = await runKills({ seed, kills, ms: kills * 1_000 }, new AbortController().signal);
  expect(outcome.violations, reportLines(outcome).join('\n')).toEqual([]);
  expect(outcome.findings.answered).toBeGreaterThan(100);
  expect([...outcome.kills.values()].reduce((sum, each) => sum + each)).toBe(kills);
});
