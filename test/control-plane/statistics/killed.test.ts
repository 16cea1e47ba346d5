// Control planes that are killed while they take entries in or count what was stored before, and a transaction that is
// rolled back after its counts were written: what is counted is what is stored.
import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createIngest } from '../../../control-plane/audit/operations/ingest-batch.ts';
import { migrate } from '../../../control-plane/database/migrate.ts';
import { catchUpCounts } from '../../../control-plane/statistics/operations/catch-up.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { miscounted } from '../../support/miscounted.ts';
import { exitOf, startSource } from '../../support/source-process.ts';
import { undoMigrationsFrom } from '../../support/undo-migrations.ts';
import { batchOf, entry, records, spool } from '../spool.ts';

let database: TestDatabase;
let workspaceId: number;
beforeEach(async () => {
  database = await createTestDatabase();
  const { rows } = await database.pool.query<{ id: string }>(
    `insert into workspace (slug, frozen, revision, created_at, raised_at) values ('acme', false, 1, '2020-01-01', now()) returning id`,
  );
  workspaceId = Number(rows[0]?.id);
});
afterEach(() => database.close());

const differences = (): Promise<readonly string[]> =>
  miscounted(async (text) => (await database.pool.query<{ what: string; row: string }>(text)).rows);

/** Waits until the server has ended the transactions of processes that are gone. */
const settled = (): Promise<void> =>
  expect
    .poll(
      async () =>
        (
          await database.pool.query(
            "select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'",
          )
        ).rowCount,
    )
    .toBe(0);

test('two control planes that are killed while they take entries in, again and again, leave counts that are those of the entries', async () => {
  let stored = 0;
  for (let kill = 0; kill < 4; kill += 1) {
    const children = ['a', 'b'].map((letter) =>
      startSource('ingest-until-killed.ts', JSON.stringify(database.connection), String(workspaceId), spool(letter)),
    );
    await Promise.all(children.map((child) => once(child.stdout, 'data')));
    expect(await differences()).toEqual([]);
    // Each is killed in the middle of whatever it does.
    for (const child of children) child.kill('SIGKILL');
    await Promise.all(children.map(exitOf));
    await settled();
    expect(await differences()).toEqual([]);
    const { rows } = await database.pool.query(
      'select count(*)::int as entries, (select sum(total)::int from decision_count where slots = 60) as counted from audit_entry',
    );
    expect(rows[0].entries).toBeGreaterThan(stored);
    expect(rows[0].counted).toBe(rows[0].entries);
    stored = rows[0].entries;
  }
}, 120_000);

test('a commit that fails after its counts were written leaves neither entries nor counts, and is counted once when it comes again', async () => {
  const ingest = createIngest({ pool: database.pool, clock: () => new Date('2026-06-25T12:00:00Z') });
  const batch = batchOf({ workspaceId, spoolId: spool('a'), records: records(1, 20, () => entry()) });
  // The last statement of the transaction fails.
  await database.pool.query(
    `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'broken'; end $$;
     create trigger broken before update on audit_stream for each row execute function refuse()`,
  );
  await expect(ingest(batch)).rejects.toThrow('broken');
  for (const table of ['audit_entry', 'decision_count', 'count_head'])
    expect((await database.pool.query(`select from ${table}`)).rowCount).toBe(0);
  await database.pool.query('drop trigger broken on audit_stream');
  await ingest(batch);
  await ingest(batch);
  expect((await database.pool.query('select total from decision_count')).rows).toEqual([{ total: 20 }, { total: 20 }]);
  expect(await differences()).toEqual([]);
});

test('a batch for a day that is being dropped waits for it before it holds any count, so neither blocks the other', async () => {
  const ingest = createIngest({ pool: database.pool, clock: () => new Date('2026-06-25T12:00:00Z') });
  const late = (from: number) =>
    batchOf({ workspaceId, spoolId: spool('a'), records: records(from, from + 2, () => entry({ ts: '2026-06-20T10:00:00.000Z' })) });
  await ingest(late(1));
  const dropping = await database.pool.connect();
  // As `lockDay` and `dropDay` do, but stopped between the log and its counts.
  await dropping.query('begin; lock table audit_entry in access exclusive mode; drop table audit_entry_20260620');
  const second = ingest(late(4));
  await expect
    .poll(async () => (await database.pool.query("select from pg_locks where not granted and relation = 'audit_entry'::regclass")).rowCount)
    .toBe(1);
  await dropping.query('drop table decision_count_20260620, finding_count_20260620; commit');
  dropping.release();
  await second;
  expect((await database.pool.query('select total from decision_count')).rows).toEqual([{ total: 3 }, { total: 3 }]);
  expect(await differences()).toEqual([]);
  const { rows } = await database.pool.query('select deadlocks from pg_stat_database where datname = current_database()');
  expect(rows).toEqual([{ deadlocks: '0' }]);
});

/** Stores entries of two days as a version without counts does. */
async function storeUncounted(count: number): Promise<void> {
  const days = ["'2026-06-24'", "'2026-06-25'"];
  for (const day of days)
    await database.pool.query(`create table if not exists audit_entry_${day.replaceAll(/\D/g, '')}
    partition of audit_entry for values from (${day}) to (${day}::timestamptz + interval '1 day')`);
  await database.pool.query(
    `with head as (
       insert into audit_head (workspace_id, ingest) values ($1, $2) returning ingest)
     insert into audit_entry (workspace_id, ts, spool_id, sequence, ingest, received_at, tool, decision, agent_name, sub, session_id, entry)
     select $1, ts, $3, n, n, ts, tool, 'allow', 'bot', 'ann', '', jsonb_build_object('hookEvent', 'PreToolUse', 'code', 'allowed',
         'transform', case n % 3 when 0 then 'redact' else 'log' end,
         'findings', case n % 3 when 0 then '[{"kind": "email", "count": 2}]'::jsonb else '[]' end)
     from head, generate_series(1, ingest) n, lateral (select '2026-06-24T10:00:00Z'::timestamptz + n * interval '5 seconds' as ts, 'tool-' || n % 9 as tool) made`,
    [workspaceId, count, spool('f')],
  );
}

const progress = async (): Promise<{ entries: number; ingest: number; counted: number }> => {
  const { rows } = await database.pool.query(
    `select (select count(*)::int from audit_entry) as entries, (select ingest::int from count_head) as ingest,
       (select sum(total)::int from decision_count where slots = 24) as counted`,
  );
  return rows[0];
};

test('entries of before the counts are counted wholly and once, by a job that is killed in the middle, and next to new entries', async () => {
  const before = 12_000;
  await undoMigrationsFrom(database.pool, '0033_decision_count');
  await storeUncounted(before);
  await migrate(database.connection);
  // New entries that come first are not counted either, because those before them are not.
  const ingest = createIngest({ pool: database.pool, clock: () => new Date('2026-06-25T12:00:00Z') });
  const bring = (from: number) => ingest(batchOf({ workspaceId, spoolId: spool('a'), records: records(from, from + 9, () => entry()) }));
  await bring(1);
  expect(await progress()).toEqual({ entries: before + 10, ingest: null, counted: null });
  // The second transaction of the job waits after it has written its counts.
  await database.pool.query(
    `create function wait() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(4711); return new; end $$;
     create trigger waits before update on count_head for each row when (new.ingest = 10000) execute function wait()`,
  );
  const holder = await database.pool.connect();
  await holder.query('select pg_advisory_lock(4711)');
  const child = startSource('count-until-killed.ts', JSON.stringify(database.connection));
  await expect
    .poll(async () => (await holder.query("select from pg_locks where locktype = 'advisory' and objid = 4711 and not granted")).rowCount, {
      timeout: 60_000,
    })
    .toBe(1);
  // New entries wait for that transaction.
  const waiting = bring(11);
  child.kill('SIGKILL');
  await exitOf(child);
  await holder.query('select pg_advisory_unlock(4711)');
  holder.release();
  await waiting;
  await settled();
  await database.pool.query('drop trigger waits on count_head');
  expect(await progress()).toEqual({ entries: before + 20, ingest: 5_000, counted: 5_000 });
  // The comparison finds what is not counted.
  expect(await differences()).toHaveLength(20);
  // Two jobs, and entries that come meanwhile.
  const bringing = async (): Promise<void> => {
    for (let from = 21; from < 121; from += 10) await bring(from);
  };
  await Promise.all([catchUpCounts({ pool: database.pool }), bringing(), catchUpCounts({ pool: database.pool })]);
  await bring(121);
  await catchUpCounts({ pool: database.pool });
  const all = before + 130;
  expect(await progress()).toEqual({ entries: all, ingest: all, counted: all });
  expect(await differences()).toEqual([]);
}, 120_000);
