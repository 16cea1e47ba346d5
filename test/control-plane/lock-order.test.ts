// The order in which transactions of ingestion lock rows, on a real PostgreSQL, step by step. Two that want the same
// spools wait for each other in one direction only, in whichever order PostgreSQL reads the rows. Without the sort in
// `lockLog`, a deadlock fails this test.
import type { PoolClient } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { lockLog } from '../../control-plane/audit/store/audit-ingest.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
});
const clients: PoolClient[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.release(true);
  await database.close();
});

const [low, high] = ['0'.repeat(32), 'f'.repeat(32)] as const;

async function makeWorkspace(slug: string): Promise<number> {
  const { rows } = await database.pool.query<{ id: string }>(
    `insert into workspace (slug, frozen, revision, created_at, raised_at) values ($1, false, 1, now(), now()) returning id`,
    [slug],
  );
  return Number(rows[0]?.id);
}

/** In the order of the rows in the table. */
async function makeSpools(workspaceId: number, spoolIds: readonly string[]): Promise<void> {
  await database.pool.query('insert into audit_head (workspace_id, ingest) values ($1, 0)', [workspaceId]);
  for (const spoolId of spoolIds)
    await database.pool.query('insert into audit_stream (workspace_id, spool_id, sequence) values ($1, $2, 0)', [workspaceId, spoolId]);
}

/** A transaction that ends with the test. It reads tables in their physical order, as PostgreSQL may do at any time. */
async function begin(): Promise<PoolClient> {
  const client = await database.pool.connect();
  clients.push(client);
  await client.query('set enable_indexscan = off; set enable_bitmapscan = off; begin');
  return client;
}

/** Resolves as soon as that connection waits for a lock. */
async function waits(client: PoolClient): Promise<void> {
  const { processID } = client as PoolClient & { readonly processID: number };
  await expect
    .poll(async () => {
      const { rows } = await database.pool.query<{ by: number }>('select cardinality(pg_blocking_pids($1)) as by', [processID]);
      return rows[0]?.by;
    })
    .toBeGreaterThan(0);
}

const lockSpool = (client: PoolClient, workspaceId: number, spoolId: string): Promise<unknown> =>
  client.query('select from audit_stream where workspace_id = $1 and spool_id = $2 for update', [workspaceId, spoolId]);

const makeSpool = (client: PoolClient, workspaceId: number, spoolId: string): Promise<unknown> =>
  client.query('insert into audit_stream (workspace_id, spool_id, sequence) values ($1, $2, 0) on conflict do nothing', [
    workspaceId,
    spoolId,
  ]);

test.each([
  ['there are', [high, low], lockSpool],
  ['are yet to be made', [], makeSpool],
] as const)('two transactions for the same spools, which %s, lock them in one order, whatever order they ask in', async (_, made, take) => {
  const workspaceId = await makeWorkspace('acme');
  await makeSpools(workspaceId, made);
  const [one, other] = [await begin(), await begin()];
  // As `lockLog` does, but stopped between two rows.
  await take(one, workspaceId, low);
  const locked = lockLog(other, workspaceId, [high, low], []);
  const outcome = locked.then(
    () => 'locked',
    (error: unknown) => String(error),
  );
  await waits(other);
  // If the other one had locked this earlier, both would now wait for each other.
  await take(one, workspaceId, high);
  await one.query('commit');
  expect(await outcome).toBe('locked');
  expect([...(await locked).spools.keys()].toSorted()).toEqual([low, high]);
});

test('one that waits for a spool has not locked the chain, and a batch for other spools of the workspace continues', async () => {
  const workspaceId = await makeWorkspace('acme');
  await makeSpools(workspaceId, [high, low, 'a'.repeat(32)]);
  const [one, waiting, third] = [await begin(), await begin(), await begin()];
  await lockSpool(one, workspaceId, high);
  const locked = lockLog(waiting, workspaceId, [low, high], []);
  await waits(waiting);
  expect((await lockLog(third, workspaceId, ['a'.repeat(32)], [])).ingest).toBe(0);
  await third.query('rollback');
  await one.query('rollback');
  await locked;
});

test('spools with the same name in two workspaces are two: neither waits for the other', async () => {
  const [acme, other] = [await makeWorkspace('acme'), await makeWorkspace('other')];
  for (const workspaceId of [acme, other]) await makeSpools(workspaceId, [high, low]);
  const [one, two] = [await begin(), await begin()];
  await lockLog(one, acme, [low, high], []);
  expect((await lockLog(two, other, [high, low], [])).spools.size).toBe(2);
});
