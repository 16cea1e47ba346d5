// Control planes that are killed while they take entries in, and a transaction that is rolled back after its counts were
// written: what is counted is what is stored.
import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createIngest } from '../../../control-plane/audit/operations/ingest-batch.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { miscounted } from '../../support/miscounted.ts';
import { exitOf, startSource } from '../../support/source-process.ts';
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
