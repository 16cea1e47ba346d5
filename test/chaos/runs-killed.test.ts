// A control plane is killed with a run in progress. The next start marks the run as failed, with every answered call
// recorded once and the spend settled. Another control plane ends the dead one's run and none of its own.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClientConfig } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { databaseName, port, superuser } from '../../control-plane/database/embedded/settings.ts';
import { type ControlPlane, eventually } from '../support/programs.ts';
import { expectOnce, expectSettled, type Lab, readEntries, readMoney, readRun, startLab, watchRun } from './lab.ts';
import { type Postgres, startPostgres } from './postgres.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await startLab();
});
afterAll(() => lab?.close());

const died = 'the control plane of the run ended unexpectedly';

describe('killed with -9 on its embedded PostgreSQL', () => {
  let dataDir: string;
  let plane: ControlPlane;
  let agent: string;
  let connection: ClientConfig;
  beforeAll(async () => {
    dataDir = lab.folder();
    connection = { host: join(dataDir, 'postgres', 'data'), port, user: superuser, database: databaseName, ssl: false };
    plane = await lab.startPlane(dataDir);
    agent = await lab.prepareRuns(plane);
  });
  afterAll(() => plane?.end());

  /** The control plane of the next start is also that of the next test. */
  async function killAndStart(postgresToo: boolean): Promise<void> {
    const postmaster = Number.parseInt(readFileSync(join(dataDir, 'postgres', 'data', 'postmaster.pid'), 'utf8'), 10);
    await plane.end('SIGKILL');
    if (postgresToo) process.kill(postmaster, 'SIGKILL');
    plane = await lab.startPlane(dataDir);
  }

  test.each([
    ['lives on', false],
    ['is killed too', true],
  ])('in the middle of a tool call, where that %s', async (_how, postgresToo) => {
    lab.slow.shut();
    onTestFinished(() => lab.slow.open());
    const run = await watchRun(plane, agent, 'quick slow');
    await run.hears('tool_result', 'box.quick');
    await lab.slow.holds(1);
    const before = await readMoney(connection);

    await killAndStart(postgresToo);
    expect(await run.over).toBe('cut');
    expect(await readRun(plane, run.id)).toMatchObject({ status: 'failed', error: died, usage: { estimatedCostCents: 0.2 } });
    expect(await readEntries(plane, run.id, 3)).toEqual(['PostToolUse box.quick', 'PreToolUse box.quick', 'PreToolUse box.slow']);
    expect(await readMoney(connection)).toEqual({ settled: before.settled, reserved: 0 });
    await expectSettled(connection);
  });

  test.each([
    ['lives on', false],
    ['is killed too', true],
  ])('in the middle of a model call, where that %s', async (_how, postgresToo) => {
    lab.slow.shut();
    onTestFinished(() => lab.slow.open());
    const run = await watchRun(plane, agent, 'quick slow');
    await lab.slow.holds(1);
    lab.model.shut();
    onTestFinished(() => lab.model.open());
    lab.slow.open();
    await lab.model.holds(1);
    const before = await readMoney(connection);
    expect(before.reserved).toBeGreaterThan(0);

    await killAndStart(postgresToo);
    expect(await run.over).toBe('cut');
    const spent = 200_000 + before.reserved;
    expect(await readRun(plane, run.id)).toMatchObject({
      status: 'failed',
      error: died,
      usage: { estimatedCostCents: spent / 1_000_000 },
    });
    expect(await readEntries(plane, run.id, 4)).toEqual([
      'PostToolUse box.quick',
      'PostToolUse box.slow',
      'PreToolUse box.quick',
      'PreToolUse box.slow',
    ]);
    expect(await readMoney(connection)).toEqual({ settled: before.settled + before.reserved, reserved: 0 });
    await expectSettled(connection);
  });

  test('a start after the kill runs agents as before', async () => {
    const run = await watchRun(plane, agent, 'quick');
    expect(await run.hears('done')).toMatchObject({ output: 'all done', stopReason: 'goal_complete', usage: { estimatedCostCents: 0.4 } });
    expect(await run.over).toBe('ended');
    await expectOnce(connection);
  });
});

describe('two control planes on one database, one of which is killed in the middle of a run', () => {
  let postgres: Postgres;
  let agent: string;
  let survivor: ControlPlane;
  beforeAll(async () => {
    postgres = await startPostgres();
    survivor = await lab.startPlane(lab.folder(), { DATABASE_URL: postgres.url('survivor') });
    agent = await lab.prepareRuns(survivor);
  });
  afterAll(async () => {
    await survivor?.end('SIGKILL');
    await postgres?.close();
  });

  /** Each is in the middle of a run of its own; then one is killed. */
  async function killOne() {
    const dataDir = lab.folder();
    const url = { DATABASE_URL: postgres.url('victim') };
    const victim = await lab.startPlane(dataDir, url);
    lab.slow.shut();
    onTestFinished(() => lab.slow.open());
    const lost = await watchRun(victim, agent, 'quick slow');
    await lost.hears('tool_result', 'box.quick');
    const kept = await watchRun(survivor, agent, 'slow');
    await lab.slow.holds(2);
    await victim.end('SIGKILL');
    expect(await lost.over).toBe('cut');
    return { lost, kept, restart: () => lab.startPlane(dataDir, url) };
  }

  const becomesFailed = async (id: string): Promise<void> => {
    const found = await eventually(
      () => readRun(survivor, id),
      ({ status }) => status !== 'running',
    );
    expect(found).toMatchObject({ status: 'failed', error: died, usage: { estimatedCostCents: 0.2 } });
  };

  async function finishes(kept: Awaited<ReturnType<typeof watchRun>>): Promise<void> {
    expect(await readRun(survivor, kept.id)).toMatchObject({ status: 'running' });
    lab.slow.open();
    expect(await kept.hears('done')).toMatchObject({ output: 'all done', stopReason: 'goal_complete' });
    expect(await readRun(survivor, kept.id)).toMatchObject({ status: 'completed', usage: { estimatedCostCents: 0.4 } });
    await expectSettled(postgres.connection);
  }

  test('the other ends that run once the dead one was silent for long enough, and continues its own', async () => {
    const { lost, kept } = await killOne();
    expect(await readRun(survivor, lost.id)).toMatchObject({ status: 'running' });
    // Simulates the state 15 seconds later.
    await postgres.query(
      "update run_instance set heartbeat_at = heartbeat_at - interval '16 seconds' where id = (select instance from run where id = $1)",
      [lost.id],
    );
    await becomesFailed(lost.id);
    await finishes(kept);
  });

  test('the killed one, after a restart, ends that run immediately, and none of the other’s; its entries arrive once', async () => {
    const { lost, kept, restart } = await killOne();
    const again = await restart();
    onTestFinished(() => again.end().then(() => undefined));
    await becomesFailed(lost.id);
    expect(await readEntries(again, lost.id, 3)).toEqual(['PostToolUse box.quick', 'PreToolUse box.quick', 'PreToolUse box.slow']);
    await finishes(kept);
    await expectOnce(postgres.connection);
  });
});
