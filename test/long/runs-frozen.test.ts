// R5 of runs, in time: while PostgreSQL is frozen, every request about runs is refused within two seconds.
// test/chaos/runs-frozen.test.ts tests the refusals, and what happens to the runs.
import { expect, onTestFinished, test } from 'vitest';
import { refuses, startInTool } from '../chaos/frozen-runs.ts';
import { startLab } from '../chaos/lab.ts';
import { startPostgres } from '../chaos/postgres.ts';
import { createMeasured } from './timed.ts';

test.runIf(process.platform === 'linux')('every request about runs is refused within two seconds', async () => {
  const [lab, postgres] = await Promise.all([startLab(), startPostgres()]);
  onTestFinished(async () => {
    postgres.thaw();
    await lab.close();
    await postgres.close();
  });
  const plane = await lab.startPlane(lab.folder(), { DATABASE_URL: postgres.url('plane') });
  const agent = await lab.prepareRuns(plane);
  const run = await startInTool(lab, plane, agent);
  postgres.freeze();
  lab.slow.open();
  await run.hears('tool_result', 'box.slow');
  const { measure, ms } = createMeasured();
  await refuses({ plane, agent, run }, measure);
  expect(Math.max(...ms('a refusal'))).toBeLessThan(2_000);
  postgres.thaw();
  await run.hears('done');
});
