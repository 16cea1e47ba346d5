// PostgreSQL is frozen under a live run. No model is called before its cost is reserved, no tool runs without its
// entry, and all clients receive an error (test/long/runs-frozen.test.ts checks the time). After the thaw the run
// continues, or has ended with a stated reason. Its cost is correct.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { ask, type ControlPlane, eventually } from '../support/programs.ts';
import {
  expectOnce,
  expectSettled,
  type Lab,
  ownerKey,
  readEntries,
  readMoney,
  readRun,
  startLab,
  type WatchedRun,
  watchRun,
} from './lab.ts';
import { refuses, startInTool as startInToolOf } from './frozen-runs.ts';
import { unmeasured } from './measure.ts';
import { type Postgres, startPostgres } from './postgres.ts';

let lab: Lab;
let postgres: Postgres;
let plane: ControlPlane;
let agent: string;
beforeAll(async () => {
  [lab, postgres] = await Promise.all([startLab(), startPostgres()]);
  plane = await lab.startPlane(lab.folder(), { DATABASE_URL: postgres.url('plane') });
  agent = await lab.prepareRuns(plane);
});
afterEach(async () => {
  postgres.thaw();
  lab.slow.open();
  lab.model.open();
});
afterAll(async () => {
  await lab?.close();
  await postgres?.close();
});

const startInTool = (input?: string, agentId = agent): Promise<WatchedRun> => startInToolOf(lab, plane, agentId, input);
const expectRefusals = (run: WatchedRun): Promise<void> => refuses({ plane, agent, run }, unmeasured);

const bothEntries = ['PostToolUse box.quick', 'PostToolUse box.slow', 'PreToolUse box.quick', 'PreToolUse box.slow'];

/** The parents of processes are read from /proc. */
describe.runIf(process.platform === 'linux')('PostgreSQL is frozen', () => {
  test('in the middle of a tool call: its result is recorded, and the model receives it only when that can be paid', async () => {
    const run = await startInTool();
    const asked = lab.model.passed;
    postgres.freeze();
    lab.slow.open();
    await run.hears('tool_result', 'box.slow');
    await expectRefusals(run);
    expect(lab.model.passed).toBe(asked);
    postgres.thaw();
    expect(await run.hears('done')).toMatchObject({ output: 'all done', stopReason: 'goal_complete', usage: { estimatedCostCents: 0.4 } });
    expect(lab.model.passed).toBe(asked + 1);
    expect(await readEntries(plane, run.id, 4)).toEqual(bothEntries);
    await expectSettled(postgres.connection);
    await expectOnce(postgres.connection);
  });

  test('in the middle of a model call: its answer is sent, and the end of the run once that is recorded, with its cost', async () => {
    const run = await startInTool();
    lab.model.shut();
    lab.slow.open();
    await lab.model.holds(1);
    postgres.freeze();
    lab.model.open();
    await run.hears('text');
    await expectRefusals(run);
    expect(run.kinds().at(-1)).toBe('text');
    postgres.thaw();
    expect(await run.hears('done')).toMatchObject({ output: 'all done', stopReason: 'goal_complete', usage: { estimatedCostCents: 0.4 } });
    expect(await readRun(plane, run.id)).toMatchObject({ status: 'completed', usage: { estimatedCostCents: 0.4 } });
    await expectSettled(postgres.connection);
  });

  test('for longer than the run may last: its client is notified in time, and its end is recorded afterwards', async () => {
    const body = { name: 'brief', model: 'fake/m', enabledTools: ['box.*'], maxBudgetCents: 10, maxDurationMs: 4_000 };
    const made = await ask(`${plane.rest}/api/v1/agents`, ownerKey, { body });
    const run = await startInTool('quick slow', String(made.body['id']));
    const asked = lab.model.passed;
    postgres.freeze();
    lab.slow.open();
    expect(await run.hears('error')).toEqual({
      error: 'the run has ended, but its end could not be recorded yet; read the run later to see its result',
    });
    expect(await run.over).toBe('ended');
    expect(lab.model.passed).toBe(asked);
    postgres.thaw();
    const ended = await eventually(
      () => readRun(plane, run.id).catch((): Readonly<Record<string, unknown>> => ({})),
      ({ status }) => status !== undefined && status !== 'running',
    );
    expect(ended).toMatchObject({ status: 'completed', stopReason: 'max_duration', usage: { estimatedCostCents: 0.2 } });
    expect(await readEntries(plane, run.id, 4)).toEqual(bothEntries);
    await expectSettled(postgres.connection);
  });

  test('under twenty runs that share the last cent of a day: each ends with a stated reason, and the cap of the day holds', async () => {
    const { settled } = await readMoney(postgres.connection);
    const capCents = Math.ceil(settled / 1_000_000) + 1;
    const env = { DATABASE_URL: postgres.url('tight'), TOLLGATE_DAILY_CAP_CENTS: String(capCents) };
    const tight = await lab.startPlane(lab.folder(), env);
    lab.model.shut();
    const before = lab.model.passed;
    const runs = await Promise.all(Array.from({ length: 20 }, () => watchRun(tight, agent, 'quick')));
    await eventually(
      async () => lab.model.passed,
      (passed) => passed > before,
    );
    postgres.freeze();
    lab.model.open();
    for (const run of runs.slice(0, 1)) await expectRefusals(run);
    postgres.thaw();
    expect(await Promise.all(runs.map((run) => run.over))).toEqual(runs.map(() => 'ended'));
    const ends = runs.flatMap(({ told }) => told.filter(({ event }) => event === 'done').map(({ data }) => JSON.parse(data ?? '{}')));
    expect(ends).toHaveLength(runs.length);
    expect(new Set(ends.map(({ stopReason }) => stopReason))).toContain('max_budget');
    await expectSettled(postgres.connection, capCents);
    await expectOnce(postgres.connection);
  });
});
