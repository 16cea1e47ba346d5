// A database that is down, frozen, locked or full is a 503, and everything works again after recovery.
// test/long/database-away.test.ts measures the time.

import { afterEach, beforeEach, expect, test } from 'vitest';
import { createIngest } from '../../control-plane/audit/operations/ingest-batch.ts';
import { watchIngest } from '../../control-plane/audit/operations/watch-ingest.ts';
import { createCutApp, createWire, lockWorkspace, readAndWrite, unreachable, type Wire } from './cut-database.ts';
import { createRest, type Rest } from './rest.ts';
import { acknowledgedOf, batchOf, records, spool, workspaceIdOf } from './spool.ts';

let rest: Rest;
let wire: Wire;
let cut: Awaited<ReturnType<typeof createCutApp>>;
beforeEach(async () => {
  rest = await createRest();
  wire = await createWire(rest);
  cut = await createCutApp(rest, wire);
});
afterEach(async () => {
  await cut.close();
  await wire.close();
  await rest.close();
});

test.each(readAndWrite)('%s %s: down, then back', async (method, url) => {
  expect((await cut.ask(method, url)).status).toBe(200);
  await wire.cut();
  for (let n = 0; n < 2; n += 1) expect(await cut.ask(method, url)).toMatchObject({ ...unreachable, headers: { 'retry-after': '1' } });
  await wire.repair();
  expect((await cut.ask(method, url)).status).toBe(200);
  expect(cut.lines.join('')).toContain('the database cannot be reached');
});

test.each(readAndWrite)('%s %s: frozen, asked once, on the existing connection', async (method, url) => {
  expect((await cut.ask(method, url)).status).toBe(200);
  wire.freeze();
  const before = wire.connections();
  expect(await cut.ask(method, url)).toMatchObject(unreachable);
  expect(wire.connections()).toBe(before);
  // The connection that did not answer is not used again.
  expect((await cut.ask(method, url)).status).toBe(200);
  expect(wire.connections()).toBe(before + 1);
});

test('locked', async () => {
  const unlock = await lockWorkspace(rest);
  expect(await cut.ask('PUT', '/acme/admin/workspacePolicy')).toMatchObject(unreachable);
  await unlock();
  expect((await cut.ask('PUT', '/acme/admin/workspacePolicy')).status).toBe(200);
});

test('the time that a request may wait for a connection and then an answer is less than two seconds', () => {
  expect(cut.waitMsMax).toBeLessThan(2_000);
});

test('a connection that is killed within a transaction is a 503 without a crash', async () => {
  await rest.pool.query(
    `create function killed() returns trigger language plpgsql as $$ begin perform pg_terminate_backend(pg_backend_pid()); return new; end $$`,
  );
  await rest.pool.query('create trigger killed before insert on policy_document for each row execute function killed()');
  expect(await cut.ask('PUT', '/acme/admin/workspacePolicy')).toMatchObject(unreachable);
  await rest.pool.query('drop trigger killed on policy_document');
  expect((await cut.ask('PUT', '/acme/admin/workspacePolicy')).status).toBe(200);
});

test.each([
  ['53100', 'could not extend file: No space left on device', 'the disk of the database is full; try again'],
  ['25006', 'cannot execute INSERT in a read-only transaction', 'the database is read-only; try again'],
])(
  'PostgreSQL that answers but does not write (%s) is reported to writers and at /readyz, until it writes',
  async (state, words, error) => {
    await rest.pool.query(
      `create function barred() returns trigger language plpgsql as $$ begin raise exception '${words}' using errcode = '${state}'; end $$`,
    );
    for (const table of ['policy_document', 'audit_entry'])
      await rest.pool.query(`create trigger barred before insert on ${table} for each row execute function barred()`);
    expect(await cut.ask('PUT', '/acme/admin/workspacePolicy')).toMatchObject({ status: 503, body: { error } });

    let now = 0;
    const intake = watchIngest(createIngest(rest.deps), () => now);
    const take = async () =>
      acknowledgedOf(await intake.ingest(batchOf({ workspaceId: await workspaceIdOf(rest), spoolId: spool('a'), records: records(1, 1) })));
    await expect(take()).rejects.toThrow(words);
    expect(intake.problems()).toEqual([`audit entries cannot be stored: ${words}`]);
    // The error that came with it has not occurred again.
    now = 121_000;
    expect(intake.problems()).toEqual([]);
    await expect(take()).rejects.toThrow(words);
    for (const table of ['policy_document', 'audit_entry']) await rest.pool.query(`drop trigger barred on ${table}`);
    expect(intake.problems()).toHaveLength(1);
    expect(await take()).toBe(1);
    expect(intake.problems()).toEqual([]);
  },
);
