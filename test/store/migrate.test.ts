import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, inject, test } from 'vitest';
import { lockValue, migrate } from '../../control-plane/database/migrate.ts';
import { startGate } from '../chaos/gate.ts';
import { createTestDatabase, withClient } from '../support/database.ts';

const positions = new URL('../../control-plane/database/migrations/0010_event_position.sql', import.meta.url);

const changes = new URL('../../control-plane/database/migrations/0018_workspace_change.sql', import.meta.url);

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

test('of several processes that migrate an empty database at once, all succeed and each migration is applied once', async () => {
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

test('a connection that breaks during the migration is an error of the migration, and ends no process', async () => {
  const { connection, close } = await createTestDatabase();
  const { host = '', port } = connection;
  const gate = await startGate(host.startsWith('/') ? `${host}/.s.PGSQL.${port}` : `${host}:${port}`);
  const [gateHost, gatePort] = gate.address.split(':');
  await withClient(connection, async (holder) => {
    await holder.query('select pg_advisory_lock($1)', [lockValue]);
    const migrating = migrate({ ...connection, host: gateHost, port: Number(gatePort), application_name: 'waiting' });
    const failing = expect(migrating).rejects.toThrow('Connection terminated unexpectedly');
    const waits = `select 1 from pg_stat_activity where application_name = 'waiting' and wait_event_type = 'Lock'`;
    while ((await holder.query(waits)).rowCount === 0);
    gate.cut();
    await failing;
  });
  await gate.close();
  await close();
});

test('existing events keep their order when they are numbered again, and when that is undone', async () => {
  const { connection, close } = await createTestDatabase();
  const [, up = '', down = ''] = /-- Up Migration\n(.*)-- Down Migration\n(.*)/s.exec(readFileSync(positions, 'utf8')) ?? [];
  await withClient(connection, async (client) => {
    await client.query(`insert into workspace (slug, created_at) values ('a', now()), ('b', now())`);
    await client.query(down);
    for (const [slug, revision, target] of [
      ['a', 1, 'x'],
      ['b', 1, 'y'],
      ['a', 2, 'z'],
      ['b', 2, 'y'],
      ['a', 2, 'w'],
      ['a', 2, 'v'],
    ])
      await client.query(
        `insert into admin_event (workspace_id, at, sub, key_id, action, target, revision, detail)
         select id, now(), '', '', '', $3, $2, '{}' from workspace where slug = $1`,
        [slug, revision, target],
      );
    const order = async () =>
      (
        await client.query(
          `select revision::int, position, target from admin_event join workspace on workspace.id = workspace_id and slug = 'a'
           order by revision desc, position desc`.replaceAll(' revision', ' admin_event.revision'),
        )
      ).rows;
    const wanted = [
      { revision: 2, position: 3, target: 'v' },
      { revision: 2, position: 2, target: 'w' },
      { revision: 2, position: 1, target: 'z' },
      { revision: 1, position: 1, target: 'x' },
    ];
    await client.query(up);
    expect(await order()).toEqual(wanted);
    await client.query(down);
    await client.query(up);
    expect(await order()).toEqual(wanted);
  });
  await close();
});

test('for existing workspaces, changes are known from their revision at that time; later records are what was written', async () => {
  const { connection, close } = await createTestDatabase();
  const [, up = '', down = ''] = /-- Up Migration\n(.*)-- Down Migration\n(.*)/s.exec(readFileSync(changes, 'utf8')) ?? [];
  await withClient(connection, async (client) => {
    await client.query(down);
    await client.query("insert into workspace (slug, revision, created_at) values ('a', 7, now())");
    await client.query(
      "insert into member (workspace_id, uid, email, role, created_at) select id, 'ann', 'ann@a.test', 'member', now() from workspace",
    );
    await client.query(up);
    expect((await client.query('select changes_from::int from workspace')).rows).toEqual([{ changes_from: 7 }]);
    // A write of an older control plane, which does not know the table.
    await client.query('update workspace set revision = 8');
    await client.query("update member set role = 'admin'");
    await client.query('update workspace set revision = 9');
    await client.query('update workspace set frozen = true');
    const { rows } = await client.query('select revision::int, key from workspace_change order by revision');
    expect(rows).toEqual([
      { revision: 8, key: 'member/ann' },
      { revision: 9, key: 'settings' },
    ]);
  });
  await close();
});
