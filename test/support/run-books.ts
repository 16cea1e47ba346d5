// The books of two control planes over one database, each with a pool of its own, and a clock that the test controls.
import { randomBytes } from 'node:crypto';
import { Pool } from 'pg';
import { makeId } from '../../control-plane/access/rules/key.ts';
import type { RunRef } from '../../control-plane/runs/rules/run.ts';
import { createRunBooks } from '../../control-plane/runs/operations/books/run-books.ts';
import type { NewRun, RunEnd } from '../../control-plane/runs/records.ts';
import { beat } from '../../control-plane/runs/store/run-instances.ts';
import { createApprovalKeys } from '../../control-plane/approvals/operations/secrets.ts';
import { createTestDatabase } from './database.ts';
import { noApprovals } from './no-approvals.ts';

/** One cent, in µ¢. */
export const cent = 1_000_000;

export const completed: RunEnd = {
  status: 'completed',
  stopReason: 'goal_complete',
  output: 'done',
  error: null,
  promptTokens: 10,
  completionTokens: 20,
  toolCalls: 1,
  rounds: 1,
  transcript: [],
};

export async function createBooks(dailyCap = 10 * cent) {
  const database = await createTestDatabase();
  const otherPool = new Pool(database.connection);
  const clock = { now: new Date('2026-06-25T12:00:00.000Z') };
  const { rows } = await database.pool.query<{ id: string }>(
    "insert into workspace (slug, created_at) values ('acme', now()), ('other', now()) returning id",
  );
  const [workspaceId = 0, otherWorkspaceId = 0] = rows.map(({ id }) => Number(id));
  const depsOf = (pool: Pool) => ({
    pool,
    clock: () => clock.now,
    random: randomBytes,
    dailyCap,
    approvals: { ...noApprovals, keys: createApprovalKeys({ pool, random: randomBytes, sealer: null }) },
  });
  const planes = await Promise.all(
    [database.pool, otherPool].map(async (pool, at) => {
      const instance = `plane-${at}`;
      await beat(pool, instance);
      return { instance, pool, ...createRunBooks(depsOf(pool), instance, { triesAfterMs: [50, 100], busyMs: 0 }) };
    }),
  );
  const [one, two] = planes;
  if (one === undefined || two === undefined) throw new Error('there are two planes');
  const newRun = (fields: Partial<NewRun> = {}): NewRun => ({
    workspaceId,
    id: makeId(randomBytes),
    agentId: 'a'.repeat(20),
    agentName: 'bot',
    sub: 'ann',
    parentRunId: null,
    model: 'anthropic/claude-haiku-4-5',
    budget: 1_000 * cent,
    request: { input: 'go' },
    ...fields,
  });
  return {
    ...database,
    one,
    two,
    clock,
    workspaceId,
    otherWorkspaceId,
    deps: depsOf(database.pool),
    newRun,
    /** A run in progress. */
    begin: async (fields: Partial<NewRun> = {}, plane = one): Promise<RunRef> => {
      const run = newRun(fields);
      if (!(await plane.records.begin(run))) throw new Error('the run did not begin');
      return run;
    },
    day: async (sub = 'ann', day = clock.now.toISOString().slice(0, 10)) => {
      const found = await database.pool.query<{ settled: string; reserved: string }>(
        'select settled, reserved from spend where sub = $1 and day = $2',
        [sub, day],
      );
      return { settled: Number(found.rows[0]?.settled ?? 0), reserved: Number(found.rows[0]?.reserved ?? 0) };
    },
    /** The fields of the run's row. */
    row: async ({ id }: RunRef) => {
      const found = await database.pool.query<{ status: string; error: string | null; spent: string; reserved: string }>(
        'select status, error, spent, reserved from run where id = $1',
        [id],
      );
      const [run] = found.rows;
      return run === undefined ? null : { ...run, spent: Number(run.spent), reserved: Number(run.reserved) };
    },
    /** As if that control plane had sent no heartbeat for this long. */
    silence: (instance: string, ms: number) =>
      database.pool.query("update run_instance set heartbeat_at = clock_timestamp() - $2 * interval '1 millisecond' where id = $1", [
        instance,
        ms,
      ]),
    close: async () => {
      await otherPool.end();
      await database.close();
    },
  };
}

export type Books = Awaited<ReturnType<typeof createBooks>>;
