// A control plane that is stopped lets its runs finish within TOLLGATE_DRAIN_MS; those that do not finish are
// cancelled. Every client receives the end of its run, the exit code is 0, and a signal that is sent twice at once, as
// npm and a terminal do, has no other effect.
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import { ask, type ControlPlane, eventually } from '../support/programs.ts';
import { expectSettled, type Lab, ownerKey, readEntries, readRun, startLab, watchRun } from './lab.ts';
import { type Postgres, startPostgres } from './postgres.ts';

let lab: Lab;
let postgres: Postgres;
/** It is never stopped, and shows what happened to the runs of those that are. */
let other: ControlPlane;
let agent: string;
beforeAll(async () => {
  [lab, postgres] = await Promise.all([startLab(), startPostgres()]);
  other = await lab.startPlane(lab.folder(), { DATABASE_URL: postgres.url('other') });
  agent = await lab.prepareRuns(other);
});
afterEach(async () => {
  await expectSettled(postgres.connection);
});
afterAll(async () => {
  await lab?.close();
  await postgres?.close();
});

async function startInRun(drainMs: number) {
  const plane = await lab.startPlane(lab.folder(), { DATABASE_URL: postgres.url('stopped'), TOLLGATE_DRAIN_MS: String(drainMs) });
  lab.slow.shut();
  onTestFinished(() => lab.slow.open());
  const run = await watchRun(plane, agent, 'quick slow');
  await lab.slow.holds(1);
  return { plane, run };
}

const drains = (plane: ControlPlane): Promise<unknown> =>
  eventually(
    async () => plane.log(),
    (log) => log.includes('draining'),
  );

const bothEntries = ['PostToolUse box.quick', 'PostToolUse box.slow', 'PreToolUse box.quick', 'PreToolUse box.slow'];

test('a run in progress finishes, while no new request is accepted', async () => {
  const { plane, run } = await startInRun(60_000);
  const ending = plane.end('SIGTERM');
  await drains(plane);
  await expect(ask(`${plane.rest}/api/v1/agents/${agent}/run`, ownerKey, { body: { input: 'quick' } })).rejects.toThrow();
  lab.slow.open();
  expect(await run.hears('done')).toMatchObject({ output: 'all done', stopReason: 'goal_complete' });
  expect(await run.over).toBe('ended');
  expect(await ending).toBe(0);
  expect(await readRun(other, run.id)).toMatchObject({ status: 'completed', usage: { estimatedCostCents: 0.4 } });
  expect(await readEntries(other, run.id, 4)).toEqual(bothEntries);
});

test('a run in progress also finishes where the stop signal comes twice at once, of either kind', async () => {
  const { plane, run } = await startInRun(60_000);
  const ending = plane.end('SIGINT');
  plane.signal('SIGINT');
  plane.signal('SIGTERM');
  await drains(plane);
  lab.slow.open();
  expect(await run.hears('done')).toMatchObject({ stopReason: 'goal_complete' });
  expect(await ending).toBe(0);
});

test('runs that last longer than the drain are cancelled: a stream and an answer both say so', async () => {
  const { plane, run } = await startInRun(300);
  const answered = ask(`${plane.rest}/api/v1/agents/${agent}/run`, ownerKey, { body: { input: 'slow' } });
  await lab.slow.holds(2);
  const ending = plane.end('SIGTERM');
  expect(await run.hears('done')).toMatchObject({ stopReason: 'cancelled' });
  expect(await answered).toMatchObject({ status: 200, body: { stopReason: 'cancelled' } });
  expect(await run.over).toBe('ended');
  expect(await ending).toBe(0);
  expect(await readRun(other, run.id)).toMatchObject({ status: 'cancelled', usage: { estimatedCostCents: 0.2 } });
  expect(await readEntries(other, run.id, 4)).toEqual(bothEntries);
});

test('a run cancelled in the middle of a model call costs exactly what was reserved for that call', async () => {
  const plane = await lab.startPlane(lab.folder(), { DATABASE_URL: postgres.url('stopped'), TOLLGATE_DRAIN_MS: '300' });
  lab.model.shut();
  onTestFinished(() => lab.model.open());
  const run = await watchRun(plane, agent, 'quick');
  await lab.model.holds(1);
  const [day] = await postgres.query<{ reserved: string }>('select reserved from spend');
  const ending = plane.end('SIGTERM');
  expect(await run.hears('done')).toMatchObject({
    stopReason: 'cancelled',
    usage: { estimatedCostCents: Number(day?.reserved) / 1_000_000 },
  });
  expect(await ending).toBe(0);
});

test('a second signal after the first one ends the process immediately; the next start marks the run as failed', async () => {
  const dataDir = lab.folder();
  const env = { DATABASE_URL: postgres.url('stopped'), TOLLGATE_DRAIN_MS: '60000' };
  const plane = await lab.startPlane(dataDir, env);
  lab.slow.shut();
  onTestFinished(() => lab.slow.open());
  const run = await watchRun(plane, agent, 'slow');
  await lab.slow.holds(1);
  const ending = plane.end('SIGINT');
  await drains(plane);
  // Sent until it is handled: within a second it counts as the same signal.
  await eventually(
    async () => plane.signal('SIGINT'),
    () => plane.log().includes('after a second SIGINT'),
  );
  expect(await ending).toBe(1);
  expect(await run.over).toBe('cut');
  const again = await lab.startPlane(dataDir, env);
  expect(await readRun(again, run.id)).toMatchObject({ status: 'failed' });
  expect(await again.end('SIGTERM')).toBe(0);
});
