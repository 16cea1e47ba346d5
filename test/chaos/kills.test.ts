// R1, as CI runs it: few kills and one seed. `npm run test:chaos -- --kills 200` is the long form, which also holds the times that are promised.
import { expect, test } from 'vitest';
import { reportLines } from './kills/report.ts';
import { runKills } from './kills/run.ts';

/** Another one tells another story: `TOLLGATE_TEST_SEED`. */
const seed = Number(process.env['TOLLGATE_TEST_SEED'] ?? 7);
const kills = 12;

test(`${kills} kills under load: every answered call has one entry, every entry a call, and all that must be true is`, {
  timeout: 300_000,
}, async () => {
  const outcome = await runKills({ seed, kills, ms: 12_000 }, new AbortController().signal);
  expect(outcome.violations, reportLines(outcome).join('\n')).toEqual([]);
  expect(outcome.findings.answered).toBeGreaterThan(100);
  expect([...outcome.kills.values()].reduce((sum, each) => sum + each)).toBe(kills);
});
