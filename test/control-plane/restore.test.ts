// A database that is replaced by a copy, under a running control plane. After `restore` every sidecar receives
// the new epoch in full and continues, and no shipped entry is counted twice or silently missing. A real PostgreSQL,
// copied and replaced.
import { Client } from 'pg';
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { authenticate } from '../../control-plane/access/operations/authenticate.ts';
import { governRun } from '../../control-plane/runs/governance/governed.ts';
import { createGovernor } from '../../control-plane/runs/governance/governor.ts';
import { readDeployment } from '../../control-plane/database/deployment.ts';
import { beat } from '../../control-plane/runs/store/run-instances.ts';
import { findWorkspaceId } from '../../control-plane/workspaces/store/workspaces.ts';
import { systemClock } from '../../sidecar/base/clock.ts';
import { startRun } from '../../sidecar/doors/library/library.ts';
import { runCommand } from '../../control-plane/app/commands.ts';
import { run } from '../cli/cli.ts';
import { withClient } from '../support/database.ts';
import { followPlane, type Plane, startPlane } from '../support/plane.ts';
import { silentLog } from '../support/silent-log.ts';
import { temporaryFolder } from '../support/spools.ts';
import { decidedCall } from '../support/decided-call.ts';

let plane: Plane;
let database: string;
beforeAll(async () => {
  plane = await startPlane();
  // Its connections will be cut.
  plane.pool.on('error', () => undefined);
  database = String(plane.pool.options.database);
});
afterAll(() => plane.close());

/** Makes a copy with that name and replaces the existing database. No client is connected to either meanwhile. */
async function replace(name: string, source: string): Promise<void> {
  await withClient(inject('testServer').address, async (client) => {
    const cut = async (one: string): Promise<void> => {
      await client.query('update pg_database set datallowconn = false where datname = $1', [one]);
      await client.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [one]);
    };
    await cut(source);
    await cut(name);
    await client.query(`drop database if exists ${name} with (force)`);
    await client.query(`create database ${name} template ${source}`);
    await client.query('update pg_database set datallowconn = true where datname = any($1)', [[name, source]]);
  });
}

/** In the form of DATABASE_URL. */
function urlOf(name: string): string {
  const { host, port, user, password } = new Client({ ...inject('testServer').address, database: name });
  const account = `${encodeURIComponent(user ?? '')}:${encodeURIComponent(typeof password === 'string' ? password : '')}`;
  return host.startsWith('/')
    ? `postgres://${account}@/${name}?host=${encodeURIComponent(host)}&port=${port}`
    : `postgres://${account}@${host}:${port}/${name}`;
}

/** `meanwhile` runs between its two reads of the heartbeats. */
const restore = (name: string, words: readonly string[] = [], meanwhile: () => Promise<void> = async () => {}) =>
  run(['--json', 'restore', ...words], { program: runCommand, env: { DATABASE_URL: urlOf(name) }, wait: meanwhile });

const countEntries = async (): Promise<number> => {
  const { rows } = await plane.pool.query<{ count: string }>('select count(*) from audit_entry');
  return Number(rows[0]?.count);
};

/** The control plane's connections were cut: its requests fail meanwhile. */
const eventually = <T>(ask: () => Promise<T>) => expect.poll(() => ask().catch(() => null), { timeout: 20_000, interval: 50 });

async function startGovernor() {
  const folder = temporaryFolder();
  let ids = 0;
  const governor = createGovernor(
    {
      publisher: plane.publisher,
      hears: () => plane.watch.problem === null,
      ingest: plane.ingest,
      clock: systemClock,
      random: Math.random,
      newId: () => `request-${(ids += 1)}`,
      log: silentLog,
      openLedger: (holder, onRecall) => plane.ledger.open(holder, onRecall),
      findWorkspace: (slug) => findWorkspaceId(plane.pool, slug),
    },
    { spoolFolder: folder, spoolBytesMax: 64 * 1024 * 1024 },
  );
  onTestFinished(() => governor.close(0));
  return governor;
}

test('every sidecar receives the new epoch in full and continues, runs too, and entries after the copy are a gap of the log', async () => {
  const { key } = await plane.issueKey(['sidecar.sync', 'govern', 'govern.impersonate', 'agents.write']);
  const agentId = await plane.createAgent({ name: 'bot', enabledTools: ['mail.*'] });
  await plane.writePolicy({ tools: { 'mail.send': { api: { permission: 'deny' } } } });
  const process = await followPlane(plane, { key, sidecarId: 'process-1' });
  const library = await followPlane(plane, { key, form: 'library', sidecarId: 'library-1' });
  const decide = async (tool: string): Promise<string> =>
    (await startRun(library.sidecar, { agent: 'bot', tier: 'api' }).decide({ tool, input: null })).decision.code;
  const governor = await startGovernor();
  const actor = await authenticate(plane.deps, `Bearer ${key}`);
  const opened = await governor.open(actor);
  const run = governRun(opened.sidecar.governing, { runId: 'run-1', agentId, caller: actor, tier: 'api', client: 'tollgate' });
  const inRun = async (tool: string): Promise<string> => (await decidedCall(run, { tool, input: {} })).verdict.decision.code;

  expect(await Promise.all([decide('mail.send'), inRun('mail.send')])).toEqual(['policy_denied', 'policy_denied']);
  await eventually(countEntries).toBe(2);
  const backup = `${database}_backup`;
  onTestFinished(() =>
    withClient(inject('testServer').address, (client) => client.query(`drop database ${backup} with (force)`)).then(() => undefined),
  );
  await replace(backup, database);

  // The copy does not have these: a policy, and entries that were acknowledged.
  let later = 0;
  await eventually(
    async () => (later = await plane.writePolicy({ tools: { 'mail.send': { api: { permission: 'allow' } } } })),
  ).toBeGreaterThan(0);
  await Promise.all([process.reaches(later), library.reaches(later), opened.sidecar.reached(later, 10_000)]);
  expect(await Promise.all([decide('mail.send'), inRun('mail.send')])).toEqual(['allowed', 'allowed']);
  await eventually(countEntries).toBe(4);
  for (const { sidecar } of [process, library]) expect(sidecar.cell.current?.revision).toBe(later);
  const before = process.sidecar.cell.current?.epoch;
  const taken = [process, library].map(({ events }) => events.length);

  await replace(database, backup);
  const restored = await restore(database);
  expect(restored.code).toBe(0);
  const said = JSON.parse(restored.out) as Readonly<Record<string, unknown>>;
  expect(said).toMatchObject({ before, workspaces: 2, spools: 2 });

  const epochs = () => [process, library].map(({ sidecar }) => sidecar.cell.current?.epoch);
  await expect.poll(epochs, { timeout: 20_000, interval: 20 }).toEqual([said['epoch'], said['epoch']]);
  for (const [at, { sidecar, events }] of [process, library].entries()) {
    expect(sidecar.cell.current?.revision).toBeLessThan(later);
    const since = events.slice(taken[at]).map(({ message }) => message);
    expect(since).toContain('snapshot taken');
    expect(since.filter((message) => message === 'delta taken' || message.endsWith('refused'))).toEqual([]);
  }
  await expect.poll(() => opened.sidecar.state?.revision, { timeout: 10_000 }).toBeLessThan(later);
  expect(await Promise.all([decide('mail.send'), inRun('mail.send')])).toEqual(['policy_denied', 'policy_denied']);

  // Two from the copy, two from now, and between them the gap for what the copy does not have.
  await eventually(countEntries).toBe(4);
  const { rows } = await plane.pool.query<{ lost: string; reason: string }>(
    'select sum(last_sequence - first_sequence + 1) as lost, reason from audit_gap group by reason',
  );
  expect(rows).toEqual([{ lost: '2', reason: expect.stringContaining('backup') }]);

  // It continues within the new epoch, by deltas again.
  let next = 0;
  await eventually(
    async () => (next = await plane.writePolicy({ tools: { 'mail.send': { api: { permission: 'allow' } } } })),
  ).toBeGreaterThan(0);
  await Promise.all([process.reaches(next), library.reaches(next), opened.sidecar.reached(next, 10_000)]);
  expect(await Promise.all([decide('mail.send'), inRun('mail.send')])).toEqual(['allowed', 'allowed']);
  expect(process.events.at(-1)?.message).toBe('delta taken');
  opened.release();
}, 90_000);

test('it is refused while a control plane runs on the database, unless it is forced; a heartbeat in the copy does not count', async () => {
  await beat(plane.pool, 'stopped');
  expect((await restore(database)).code).toBe(0);
  const beats = (): Promise<void> => beat(plane.pool, 'alive');
  await beats();
  const before = (await readDeployment(plane.pool))?.epoch;
  const refused = await restore(database, [], beats);
  expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('a control plane runs on this database') });
  expect((await readDeployment(plane.pool))?.epoch).toBe(before);
  expect((await restore(database, ['--force'])).code).toBe(0);
});

test('a folder for a database is named by its first epoch, however often it was restored', async () => {
  const before = await readDeployment(plane.pool);
  await restore(database, ['--force']);
  const after = await readDeployment(plane.pool);
  expect(after?.epoch).not.toBe(before?.epoch);
  expect(after?.firstEpoch).toBe(before?.firstEpoch);
});

test('shared limits restart at zero: the copy does not have grants made after it', async () => {
  const workspaceId = await findWorkspaceId(plane.pool, 'acme');
  await plane.pool.query("insert into quota_counter (workspace_id, key, state, kept_until) values ($1, 'k', '{}', now())", [workspaceId]);
  expect(JSON.parse((await restore(database, ['--force'])).out)).toMatchObject({ counters: 1 });
  expect((await plane.pool.query('select 1 from quota_counter')).rowCount).toBe(0);
});

test('a database that no control plane ran on, or that does not exist, is reported, and nothing is done', async () => {
  const { address, template } = inject('testServer');
  const empty = `${database}_empty`;
  await withClient(address, (client) => client.query(`create database ${empty} template ${template}`));
  onTestFinished(() => withClient(address, (client) => client.query(`drop database ${empty} with (force)`)).then(() => undefined));
  expect(await restore(empty)).toMatchObject({
    code: 1,
    err: expect.stringContaining('nothing was done: this database holds no workspaces'),
  });
  const foreign = `${database}_foreign`;
  await withClient(address, (client) => client.query(`create database ${foreign}`));
  onTestFinished(() => withClient(address, (client) => client.query(`drop database ${foreign} with (force)`)).then(() => undefined));
  expect(await restore(foreign)).toMatchObject({ code: 1, err: expect.stringContaining('no control plane has run on it') });
  const { rows } = await withClient({ ...address, database: foreign }, (client) =>
    client.query("select tablename from pg_tables where schemaname = 'public'"),
  );
  expect(rows).toEqual([]);
  expect(await restore(`${database}_none`)).toMatchObject({
    code: 1,
    err: expect.stringContaining('nothing was done: the database could not be used'),
  });
});
