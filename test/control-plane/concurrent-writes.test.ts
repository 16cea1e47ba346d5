// Concurrent writes of one workspace, over the pool of a control plane with its timeouts. `TOLLGATE_TEST_ROUNDS` sets
// the number of rounds.
import type { Pool } from 'pg';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { createPool } from '../../control-plane/database/pool.ts';
import { createApp } from '../../control-plane/http/app.ts';
import { lockWorkspace } from './cut-database.ts';
import { createRest, type Rest } from './rest.ts';

const rounds = Number(process.env['TOLLGATE_TEST_ROUNDS'] ?? 10);
const atOnce = 20;
const url = '/acme/admin/workspacePolicy';

let rest: Rest;
let pool: Pool;
let app: ReturnType<typeof createApp>;
beforeEach(async () => {
  rest = await createRest();
  pool = createPool({ ...rest.pool.options, password: rest.pool.options.password, max: 6 }, { warn: () => undefined });
  app = createApp({ ...rest.deps, pool, registry: new Registry() });
});
afterEach(async () => {
  await app.close();
  await pool.end();
  await rest.close();
});

interface Written {
  readonly n: number;
  readonly status: number;
  readonly body: { readonly revision?: number };
}

const documentOf = (n: number) => ({ tools: { tool: { api: { rateLimit: n } } } });

async function put(n: number, headers: Readonly<Record<string, string>> = {}): Promise<Written> {
  const answer = await app.inject({
    method: 'PUT',
    url,
    headers: { authorization: `Bearer ${rest.owner}`, ...headers },
    payload: documentOf(n),
  });
  return { n, status: answer.statusCode, body: answer.json() };
}

const read = () => app.inject({ url, headers: { authorization: `Bearer ${rest.owner}` } });

test(`${rounds} × ${atOnce} concurrent writes of one document are each stored, with a revision of its own`, {
  timeout: 30_000 + rounds * 2_000,
}, async () => {
  const written: Written[] = [];
  for (let round = 0; round < rounds; round += 1)
    written.push(...(await Promise.all(Array.from({ length: atOnce }, (_, at) => put(round * atOnce + at)))));
  expect(written.filter(({ status }) => status !== 200)).toEqual([]);
  const revisions = written.map(({ body }) => body.revision ?? 0).toSorted((a, b) => a - b);
  expect(revisions).toEqual(Array.from({ length: rounds * atOnce }, (_, at) => at + 1));
  const last = written.find(({ body }) => body.revision === rounds * atOnce);
  expect((await read()).json()).toEqual(documentOf(last?.n ?? -1));
});

test(`of ${atOnce} concurrent writes with one If-Match, one is stored and the others are answered 412, ${rounds} times`, {
  timeout: 30_000 + rounds * 2_000,
}, async () => {
  let revision = 0;
  for (let round = 0; round < rounds; round += 1) {
    const answers = await Promise.all(Array.from({ length: atOnce }, (_, at) => put(at, { 'if-match': String(revision) })));
    const stored = answers.filter(({ status }) => status === 200);
    expect(answers.filter(({ status }) => status === 412)).toHaveLength(atOnce - 1);
    expect(stored).toHaveLength(1);
    revision = stored[0]?.body.revision ?? -1;
    expect((await read()).json()).toEqual(documentOf(stored[0]?.n ?? -1));
  }
});

test('writes that wait for the row of their workspace leave connections for all other requests', async () => {
  const unlock = await lockWorkspace(rest);
  onTestFinished(unlock);
  // `rest` has five connections and no timeouts.
  const writes = Array.from({ length: atOnce }, (_, at) => rest.ask('PUT', url, { body: documentOf(at) }));
  await expect.poll(waitingForLock).toBeGreaterThan(0);
  for (let n = 0; n < atOnce; n += 1) expect(await rest.ask('GET', url)).toMatchObject({ status: 200, body: {} });
  expect(await waitingForLock()).toBe(1);
  await unlock();
  expect((await Promise.all(writes)).filter(({ status }) => status !== 200)).toEqual([]);
});

async function waitingForLock(): Promise<number> {
  const { rows } = await rest.pool.query("select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'");
  return rows.length;
}
