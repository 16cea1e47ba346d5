// Two versions on one database, as in a rolling update. test/migrations.test.ts also checks what a migration may do.
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { migrate } from '../../control-plane/database/migrate.ts';
import { createTestDatabase, withClient } from '../support/database.ts';

/** A migration that waits for a table with many rows. The test undoes it together with those after it. */
const last = '0020_audit_chain';
const folder = new URL('../../control-plane/database/migrations/', import.meta.url);
const down = readdirSync(folder)
  .filter((name) => name >= last)
  .toSorted()
  .toReversed()
  .map((name) => readFileSync(new URL(name, folder), 'utf8').split('-- Down Migration')[1] ?? '')
  .join('\n');

test('an older version starts on a database that a newer one has migrated', async () => {
  const { connection, pool, close } = await createTestDatabase();
  await pool.query(`insert into migrations (name, run_on) values ('9999_next', now())`);
  await migrate(connection);
  const { rows } = await pool.query(`select name from migrations order by id desc limit 1`);
  expect(rows).toEqual([{ name: '9999_next' }]);
  await close();
});

test('while a migration waits for a table that is being read, others continue to read it; when the read ends, the migration runs', async () => {
  const { connection, pool, close } = await createTestDatabase();
  await pool.query(`${down}; delete from migrations where name >= '${last}'`);
  await withClient(connection, async (backup) => {
    await backup.query('begin; lock table audit_entry in access share mode');
    const migrated = migrate(connection);
    // Waits until the migration waits for the table, and all other statements wait behind it.
    while ((await pool.query(`select from pg_locks where not granted and relation = 'audit_entry'::regclass`)).rowCount === 0);
    const read = withClient({ ...connection, query_timeout: 5_000 }, (reader) => reader.query('select from audit_entry'));
    await expect(read).resolves.toMatchObject({ rowCount: 0 });
    await backup.query('commit');
    await migrated;
  });
  const { rows } = await pool.query(`select name from migrations where name = '${last}'`);
  expect(rows).toHaveLength(1);
  await close();
});

test('a migration that waits for a table is given up when the process has to stop, and has changed nothing', async () => {
  const { connection, pool, close } = await createTestDatabase();
  await pool.query(`${down}; delete from migrations where name >= '${last}'`);
  await withClient(connection, async (backup) => {
    await backup.query('begin; lock table audit_entry in access share mode');
    const stop = new AbortController();
    const migrated = migrate(connection, stop.signal);
    while ((await pool.query(`select from pg_locks where not granted and relation = 'audit_entry'::regclass`)).rowCount === 0);
    stop.abort('SIGTERM');
    await expect(migrated).rejects.toThrow('aborted');
    await backup.query('commit');
  });
  const { rows } = await pool.query(`select name from migrations where name = '${last}'`);
  expect(rows).toHaveLength(0);
  await close();
});
