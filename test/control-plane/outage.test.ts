// A database that is down, frozen, locked or full is a 503 within two seconds, and all is well once it is back.

import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createApp } from '../../control-plane/http/app.ts';
import type { AppDeps } from '../../control-plane/http/deps.ts';
import { createPool } from '../../control-plane/store/pool.ts';
import { createIngest } from '../../control-plane/operations/audit/ingest-batch.ts';
import { watchIngest } from '../../control-plane/operations/audit/watch-ingest.ts';
import { createRest, type Rest } from './rest.ts';
import { records, spool, workspaceIdOf } from './spool.ts';

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

/** A wire to PostgreSQL that can be frozen and cut. */
async function createWire({ pool }: Rest) {
  const { host = '', port = 5432 } = pool.options;
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-wire-'));
  const sockets = new Set<Socket>();
  const server: Server = createServer((near) => {
    const far = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    near.pipe(far).pipe(near);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        near.destroy();
        far.destroy();
        sockets.delete(socket);
      });
    }
  });
  const listen = async () => {
    server.listen(join(folder, '.s.PGSQL.5432'));
    await once(server, 'listening');
  };
  const stop = async () => {
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  await listen();
  return {
    folder,
    cut: stop,
    mend: listen,
    freeze: () => sockets.forEach((socket) => socket.unpipe()),
    close: async () => {
      if (server.listening) await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
type Wire = Awaited<ReturnType<typeof createWire>>;

async function createCutApp({ deps, owner, pool }: Rest, { folder }: Wire) {
  const { user, password, database } = pool.options;
  const cutPool = createPool({ host: folder, port: 5432, user, password, database }, pino({ level: 'silent' }));
  const lines: string[] = [];
  const cutDeps: AppDeps = {
    ...deps,
    pool: cutPool,
    readingPool: cutPool,
    registry: new Registry(),
    log: pino({}, { write: (line: string) => void lines.push(line) }),
  };
  const app = createApp(cutDeps);
  const ask = async (method: 'GET' | 'PUT', url: string) => {
    const start = performance.now();
    const body =
      method === 'PUT'
        ? { payload: '{}', headers: { authorization: `Bearer ${owner}`, 'content-type': 'application/json' } }
        : { headers: { authorization: `Bearer ${owner}` } };
    const answer = await app.inject({ method, url, ...body });
    return { status: answer.statusCode, body: answer.json<unknown>(), ms: performance.now() - start, headers: answer.headers };
  };
  const close = async () => {
    await app.close();
    await cutPool.end();
  };
  return { ask, lines, close };
}

const wanted = { status: 503, body: { error: 'the database cannot be reached; try again' } };
const writes = [
  ['GET', '/api/v1/agents'],
  ['PUT', '/acme/admin/workspacePolicy'],
] as const;

test.each(writes)('%s %s: down, then back', async (method, url) => {
  expect((await cut.ask(method, url)).status).toBe(200);
  await wire.cut();
  for (let n = 0; n < 2; n += 1) {
    const answer = await cut.ask(method, url);
    expect(answer).toMatchObject({ ...wanted, headers: { 'retry-after': '1' } });
    expect(answer.ms).toBeLessThan(2000);
  }
  await wire.mend();
  expect((await cut.ask(method, url)).status).toBe(200);
  expect(cut.lines.join('')).toContain('the database cannot be reached');
});

test.each(writes)('%s %s: frozen', async (method, url) => {
  expect((await cut.ask(method, url)).status).toBe(200);
  wire.freeze();
  const answer = await cut.ask(method, url);
  expect(answer).toMatchObject(wanted);
  expect(answer.ms).toBeLessThan(2000);
  // The connection that did not answer is not used again.
  expect((await cut.ask(method, url)).status).toBe(200);
});

test('locked', async () => {
  const client = await rest.pool.connect();
  await client.query('begin; select 1 from workspace for update');
  const answer = await cut.ask('PUT', '/acme/admin/workspacePolicy');
  expect(answer).toMatchObject(wanted);
  expect(answer.ms).toBeLessThan(2000);
  await client.query('rollback');
  client.release();
  expect((await cut.ask('PUT', '/acme/admin/workspacePolicy')).status).toBe(200);
});

test('a connection that is killed within a transaction is a 503 and no crash', async () => {
  await rest.pool.query(
    `create function killed() returns trigger language plpgsql as $$ begin perform pg_terminate_backend(pg_backend_pid()); return new; end $$`,
  );
  await rest.pool.query('create trigger killed before insert on policy_document for each row execute function killed()');
  expect(await cut.ask('PUT', '/acme/admin/workspacePolicy')).toMatchObject(wanted);
  await rest.pool.query('drop trigger killed on policy_document');
  expect((await cut.ask('PUT', '/acme/admin/workspacePolicy')).status).toBe(200);
});

test.each([
  ['53100', 'could not extend file: No space left on device', 'the database has no room left on its disk; try again'],
  ['25006', 'cannot execute INSERT in a read-only transaction', 'the database only reads, and takes nothing in; try again'],
])('PostgreSQL that answers and does not write (%s) says so, to who writes and at /readyz, until it does', async (state, words, error) => {
  await rest.pool.query(
    `create function barred() returns trigger language plpgsql as $$ begin raise exception '${words}' using errcode = '${state}'; end $$`,
  );
  for (const table of ['policy_document', 'audit_entry'])
    await rest.pool.query(`create trigger barred before insert on ${table} for each row execute function barred()`);
  expect(await cut.ask('PUT', '/acme/admin/workspacePolicy')).toMatchObject({ status: 503, body: { error } });

  let now = 0;
  const intake = watchIngest(createIngest(rest.deps), () => now);
  const take = async () => intake.ingest({ workspaceId: await workspaceIdOf(rest), spoolId: spool('a'), records: records(1, 1) });
  await expect(take()).rejects.toThrow(words);
  expect(intake.problems()).toEqual([`entries are not taken in: ${words}`]);
  // Who came with it has not come again.
  now = 121_000;
  expect(intake.problems()).toEqual([]);
  await expect(take()).rejects.toThrow(words);
  for (const table of ['policy_document', 'audit_entry']) await rest.pool.query(`drop trigger barred on ${table}`);
  expect(intake.problems()).toHaveLength(1);
  expect(await take()).toBe(1);
  expect(intake.problems()).toEqual([]);
});
