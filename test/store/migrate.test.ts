import { randomBytes } from 'node:crypto';
import { expect, inject, test } from 'vitest';
import { migrate } from '../../control-plane/store/migrate.ts';
import { createTestDatabase, withClient } from '../support/database.ts';

const readApplied = (connection: object) =>
  withClient(connection, async (client) => (await client.query('SELECT name FROM migrations ORDER BY id')).rows.map(({ name }) => name));

test('a cloned database is migrated, and migrating it again changes nothing', async () => {
  const { connection, close } = await createTestDatabase();
  const before = await readApplied(connection);
  expect(before.length).toBeGreaterThan(0);
  await migrate(connection);
  expect(await readApplied(connection)).toEqual(before);
  await close();
});

test('of several that migrate an empty database at once, all succeed and each migration is applied once', async () => {
  const { address } = inject('testServer');
  const database = `tollgate_test_${randomBytes(6).toString('hex')}`;
  await withClient(address, (client) => client.query(`CREATE DATABASE ${database}`));
  try {
    await Promise.all([1, 2, 3, 4].map(() => migrate({ ...address, database })));
    const applied = await readApplied({ ...address, database });
    expect(new Set(applied).size).toBe(applied.length);
    expect(applied.length).toBeGreaterThan(0);
  } finally {
    await withClient(address, (client) => client.query(`DROP DATABASE ${database}`));
  }
});
