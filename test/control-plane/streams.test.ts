// Bounds of what long answers may use of a control plane, and that slow reads do not delay other requests.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { request } from 'undici';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { streamBounds } from '../../control-plane/http/streams.ts';
import { readIngested } from '../../control-plane/audit/store/audit.ts';
import { listen } from './live.ts';
import { createRest, errorOf, type Rest } from './rest.ts';
import { entry, records, ship, spool, workspaceIdOf } from './spool.ts';

let rest: Rest;
const undo: (() => unknown)[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  for (const step of undo.splice(0)) await step();
  // After an abort undici opens a new connection and sends nothing on it, which the server counts as busy.
  rest.app.server.closeAllConnections();
  await rest.close();
});

const admin = '/acme/admin';
const exportPath = `${admin}/audit/export`;

async function fill(batches: number): Promise<void> {
  const of = () => entry({ input: 'x'.repeat(6_000) });
  for (let n = 0; n < batches; n += 1) await ship(rest, spool('a'), records(n * 1_000 + 1, n * 1_000 + 1_000, of));
}

async function begin(path: string, key = rest.owner) {
  const { statusCode, body } = await request(rest.origin + path, { headers: { authorization: `Bearer ${key}` }, bodyTimeout: 0 });
  body.on('error', () => {});
  undo.push(() => body.destroy());
  return { statusCode, body };
}

/** Blocks reads of the log until the returned function is called. */
async function lockLog(): Promise<() => Promise<void>> {
  const client = await rest.pool.connect();
  await client.query('begin; lock table audit_entry in access exclusive mode');
  return async () => {
    await client.query('rollback');
    client.release();
  };
}

const readsThatWait = async (): Promise<number> => {
  const { rows } = await rest.pool.query("select from pg_locks where relation = 'audit_entry'::regclass and not granted");
  return rows.length;
};

test('an answer that breaks off after its beginning is logged with its route, and counted as broken', async () => {
  rest = await createRest();
  await fill(4);
  const { statusCode, body } = await begin(exportPath);
  expect(statusCode).toBe(200);
  await rest.pool.query('alter table audit_entry rename to away');
  await expect(body.text()).rejects.toThrow();
  const line = rest.lines.map((text) => JSON.parse(text)).find(({ msg }) => msg === 'an answer failed after it had begun');
  expect(line).toMatchObject({ level: 50, route: '/:workspace/admin/audit/export', reason: expect.stringContaining('audit_entry') });
  const metrics = await rest.deps.registry.metrics();
  expect(metrics).toMatch(
    /tollgate_http_request_seconds_count\{method="GET",route="\/:workspace\/admin\/audit\/export",status="broken"\} 1\n/,
  );
  expect(metrics).not.toMatch(/audit\/export",status="200"/);
});

describe('long answers', () => {
  const open = async (key?: string) => {
    const live = await listen(rest, key === undefined ? {} : { key });
    undo.push(() => live.close());
    return live;
  };

  test('have a maximum for each key and in total; when one ends another can begin', async () => {
    rest = await createRest({ streamBounds: { ...streamBounds, ofKey: 2, inProcess: 3 } });
    const [first] = [await open(), await open()];
    const refused = await rest.ask('GET', `${admin}/audit/stream`);
    expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '5' } });
    expect(errorOf(refused)).toContain('at most 2 long answers of a key');
    const others = [await rest.keyOf('admin'), await rest.keyOf('owner', ['*'], 'owner-2')] as const;
    await open(others[0]);
    expect(errorOf(await rest.ask('GET', exportPath, { key: others[1] }))).toContain('at most 3 long answers');
    first.close();
    await vi.waitFor(async () => expect((await rest.ask('GET', exportPath)).status).toBe(200));
  });

  test('are cut where their client does not read', async () => {
    rest = await createRest({ streamBounds: { ...streamBounds, undrainedMs: 50 } });
    await fill(2);
    const { hostname, port } = new URL(rest.origin);
    const socket = connect({ host: hostname, port: Number(port) }).on('error', () => {});
    socket.pause().write(`GET ${exportPath} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${rest.owner}\r\n\r\n`);
    await vi.waitFor(() => expect(rest.lines.join('')).toContain('a stream was closed, because its client does not read the data'), 5_000);
    const closed = once(socket, 'close');
    socket.resume();
    await closed;
  });

  test('of a large log are read in pages of some MiB', async () => {
    rest = await createRest();
    await ship(
      rest,
      spool('a'),
      records(1, 200, () => entry({ input: randomBytes(30_000).toString('base64') })),
    );
    const workspaceId = await workspaceIdOf(rest);
    const seen: number[] = [];
    let pages = 0;
    for (let after = 0; after < 200; pages += 1) {
      const page = await readIngested(rest.pool, workspaceId, { after, upTo: 200, since: null, until: null, filters: {} });
      expect(page.entries.length).toBeLessThan(150);
      seen.push(...page.entries.map(({ ingest }) => ingest));
      after = page.reached;
    }
    expect(seen).toEqual(Array.from({ length: 200 }, (_, at) => at + 1));
    expect(pages).toBeGreaterThan(1);
  });
});

test('while all connections for slow reads are in use, every other request is answered', async () => {
  rest = await createRest();
  const unlock = await lockLog();
  const slow = [0, 1, 2].map(() => rest.ask('GET', `${admin}/audit`));
  await vi.waitFor(async () => expect(await readsThatWait()).toBe(2));
  expect((await rest.ask('GET', '/api/v1/agents')).status).toBe(200);
  expect((await rest.ask('PUT', `${admin}/workspacePolicy`, { body: {} })).status).toBe(200);
  await unlock();
  expect((await Promise.all(slow)).map(({ status }) => status)).toEqual([200, 200, 200]);
});

test('at most two simulations of a workspace run at once', async () => {
  rest = await createRest();
  const unlock = await lockLog();
  const running = [0, 1].map(() => rest.ask('POST', `${admin}/simulate`, { body: {} }));
  await vi.waitFor(async () => expect(await readsThatWait()).toBe(2));
  const refused = await rest.ask('POST', `${admin}/simulate`, { body: {} });
  expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '5' } });
  expect(errorOf(refused)).toContain('at most 2 simulations of a workspace');
  await unlock();
  expect((await Promise.all(running)).map(({ status }) => status)).toEqual([200, 200]);
  expect((await rest.ask('POST', `${admin}/simulate`, { body: {} })).status).toBe(200);
});

test('usage that exceeds its time returns what it has counted by then', async () => {
  rest = await createRest();
  await ship(rest, spool('a'), records(1, 3));
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => (now += 6_000));
  expect(await rest.ask('GET', `${admin}/usage`)).toMatchObject({ status: 200, body: { truncated: true, caps: [] } });
});

test('a dry run writes nothing, also nothing that is rolled back', async () => {
  rest = await createRest();
  const touched = async () =>
    (await rest.pool.query<{ xmax: string }>('select slug, xmin::text, xmax::text from workspace order by slug')).rows;
  const before = await touched();
  const set = { workspacePolicy: { defaults: { api: { permission: 'deny' } } } };
  const dry = await rest.ask('POST', `${admin}/policies/apply`, { body: { ...set, dryRun: true } });
  expect(dry).toMatchObject({ status: 200, body: { dryRun: true, changes: [{}] } });
  expect((await rest.ask('POST', `${admin}/policies/rollback`, { body: { revision: 0, dryRun: true } })).status).toBe(200);
  expect(await touched()).toEqual(before);
  const { body } = await rest.ask('POST', `${admin}/policies/apply`, { body: set });
  expect({ ...Object(body), dryRun: true, revision: 0 }).toEqual({ ...Object(dry.body), revision: 0 });
});

test('at most 30 sign-ins a minute begin from one address', async () => {
  rest = await createRest();
  const begun = () => rest.ask('GET', `${admin}/session/oidc`, { key: null });
  for (let n = 0; n < 30; n += 1) expect((await begun()).status).toBe(404);
  expect(errorOf(await begun())).toBe('the limit is reached: at most 30 sign-ins a minute from each address');
  rest.clock.now = new Date(rest.clock.now.getTime() + 60_000);
  expect((await begun()).status).toBe(404);
});

test('workspaces that the operator creates and removes are in the log', async () => {
  rest = await createRest();
  const key = rest.deps.config.operatorKey ?? '';
  await rest.ask('POST', '/api/v1/workspaces', { key, body: { slug: 'brief', owner: { uid: 'ann', email: 'ann@brief.test' } } });
  await rest.ask('DELETE', '/api/v1/workspaces/brief', { key, body: { slug: 'brief' } });
  const said = rest.lines.map((line) => JSON.parse(line)).filter(({ workspace }) => workspace === 'brief');
  expect(said.map(({ msg }) => msg)).toEqual(['the operator created a workspace', 'the operator removed a workspace']);
});
