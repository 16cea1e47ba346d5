// Runs governed in this process over a real database: policy comes from the publisher, entries go to the audit log.
import { AsyncLocalStorage } from 'node:async_hooks';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { AuditBatch, IngestResult } from '../../control-plane/audit/rules/audit-batch.ts';
import { authenticate } from '../../control-plane/access/operations/authenticate.ts';
import { createPublisher } from '../../control-plane/publish/publisher.ts';
import { governRun } from '../../control-plane/runs/governance/governed.ts';
import { createGovernor, type Governor } from '../../control-plane/runs/governance/governor.ts';
import { exportGovernor } from '../../control-plane/runs/governance/metrics.ts';
import { watchRevisions } from '../../control-plane/publish/store/watch-revisions.ts';
import { readWorkspace } from '../../control-plane/workspaces/store/workspace-state.ts';
import { type Clock, systemClock } from '../../sidecar/base/clock.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { type Plane, startPlane } from '../support/plane.ts';
import { eventually } from '../support/programs.ts';
import { silentLog } from '../support/silent-log.ts';
import { canMount, mountAt, unmount } from '../support/small-disk.ts';
import { openTestSpool, temporaryFolder } from '../support/spools.ts';
import { decidedCall } from '../support/decided-call.ts';

let plane: Plane;

beforeAll(async () => {
  plane = await startPlane();
});

afterAll(() => plane.close());

interface Options {
  readonly folder?: string;
  readonly ingest?: (batch: AuditBatch) => Promise<IngestResult>;
  readonly clock?: Clock;
  readonly log?: typeof silentLog;
}

async function startGovernor({
  folder = temporaryFolder(),
  ingest = plane.ingest,
  clock = systemClock,
  log = silentLog,
}: Options = {}): Promise<Governor> {
  const publisher = createPublisher({
    read: (id, since) => readWorkspace(plane.pool, id, since),
    defaults: plane.deps.defaults,
    log: silentLog,
  });
  const watch = watchRevisions({ pool: plane.pool, connection: plane.pool.options, log: silentLog }, publisher);
  let ids = 0;
  const governor = createGovernor(
    {
      publisher,
      hears: () => watch.problem === null,
      ingest,
      clock,
      random: Math.random,
      newId: () => `request-${(ids += 1)}`,
      log,
      openLedger: (holder, onRecall) => plane.ledger.open(holder, onRecall),
      findWorkspace: async (slug) => {
        const { rows } = await plane.pool.query<{ id: string }>('select id from workspace where slug = $1', [slug]);
        return rows[0] === undefined ? null : Number(rows[0].id);
      },
    },
    { spoolFolder: folder, spoolBytesMax: 64 * 1024 * 1024 },
  );
  onTestFinished(async () => {
    await governor.close(0);
    publisher.close();
    await watch.close();
  });
  return governor;
}

/** A run of a fresh agent, by a key with these scopes. */
async function begin(governor: Governor, agent: object, scopes: readonly string[] = ['agents.write']) {
  const { key } = await plane.issueKey(scopes);
  const agentId = await plane.createAgent({ enabledTools: ['box.*'], ...agent });
  const actor = await authenticate(plane.deps, `Bearer ${key}`);
  const opened = await governor.open(actor);
  onTestFinished(() => opened.release());
  const runId = `run-${agentId}`;
  const governed = governRun(opened.sidecar.governing, { runId, agentId, caller: actor, tier: 'api', client: 'tollgate' });
  return { opened, governed, runId, agentId, actor };
}

const entriesOf = async (session: string): Promise<unknown> => (await plane.ask('GET', `/acme/admin/audit?session=${session}`)).body;

async function shipped(governor: Governor): Promise<void> {
  while ([...governor.shipping().values()].some(({ records }) => records > 0)) await new Promise((resolve) => setImmediate(resolve));
}

test('a new agent runs immediately, by a key without the scope govern, and its calls are in the audit log', async () => {
  const governor = await startGovernor();
  const { governed, runId, agentId } = await begin(governor, { name: 'fresh' });
  const { verdict } = await decidedCall(governed, { tool: 'box.one', input: { n: 1 } });
  if (!verdict.allowed) throw new Error(verdict.reason);
  await governed.report(verdict, { output: 'ok', isError: false, durationMs: 1 });
  await shipped(governor);
  expect(await entriesOf(runId)).toMatchObject({
    count: 2,
    entries: [
      { hookEvent: 'PostToolUse', tool: 'box.one', decision: 'allow' },
      { hookEvent: 'PreToolUse', tool: 'box.one', decision: 'allow', agentId, sessionId: runId, agentTier: 'api', input: { n: 1 } },
    ],
  });
});

test('log lines about a workspace are not part of the first run, nor of its trace', async () => {
  const underWay = new AsyncLocalStorage<string>();
  const said: (string | undefined)[] = [];
  const info = (): void => void said.push(underWay.getStore());
  const governor = await startGovernor({ log: { ...silentLog, info } });
  await underWay.run('the first run', () => begin(governor, { name: 'first' }));
  await eventually(
    async () => said.length,
    (lines) => lines > 0,
  );
  expect(new Set(said)).toEqual(new Set([undefined]));
});

test('a write of policy takes effect in a run in progress', async () => {
  const governor = await startGovernor();
  const { governed, opened } = await begin(governor, { name: 'felt' });
  expect(governed.offers('box.one')).toBe(true);
  await opened.sidecar.reached(await plane.writePolicy({ tools: { 'box.one': { api: { permission: 'deny' } } } }), 10_000);
  expect(governed.offers('box.one')).toBe(false);
  expect((await decidedCall(governed, { tool: 'box.one', input: {} })).verdict.decision.code).toBe('policy_denied');
  await opened.sidecar.reached(await plane.writePolicy({ tools: { 'box.one': null } }), 10_000);
  expect(governed.offers('box.one')).toBe(true);
});

test('a key that is revoked in the middle of a run ends the permissions of the run', async () => {
  const governor = await startGovernor();
  const { governed, opened, actor } = await begin(governor, { name: 'revoked' });
  await plane.ask('DELETE', `/acme/admin/keys/${actor.keyId}`);
  await opened.sidecar.reached(await plane.revision(), 10_000);
  expect(governed.halted()).toMatch(/^key_revoked/);
});

/** A clock whose long timers fire when the test says so. */
function startClock() {
  let aheadMs = 0;
  let due: (() => void)[] = [];
  const clock: Clock = {
    now: () => systemClock.now() + aheadMs,
    wallTime: Date.now,
    after: (ms, run) => {
      if (ms < 10_000) return systemClock.after(ms, run);
      due.push(run);
      return { cancel: () => void (due = due.filter((one) => one !== run)), unref: () => undefined };
    },
  };
  /** Advances the clock, and fires every due timer. */
  const pass = (ms: number): void => {
    aheadMs += ms;
    for (const run of due.splice(0)) run();
  };
  return { clock, pass };
}

test('an unused sidecar is closed when it has settled, and not before the counts over it may be forgotten', async () => {
  const { clock, pass } = startClock();
  const governor = await startGovernor({ clock });
  const actor = await authenticate(plane.deps, `Bearer ${(await plane.issueKey(['govern'])).key}`);
  const use = async (keptMs?: number): Promise<object> => {
    const opened = await governor.open(actor, keptMs === undefined ? {} : { keptMs });
    opened.release();
    return opened.sidecar;
  };
  const first = await use();
  pass(10_000);
  const second = await use(86_400_000);
  expect(second).not.toBe(first);
  for (let hour = 0; hour < 23; hour++) pass(3_600_000);
  expect(await use(3_600_000)).toBe(second);
  pass(1_800_000);
  expect(await use()).toBe(second);
  pass(1_800_001);
  expect(await use()).not.toBe(second);
});

test('entries that could not be shipped are found by the next start, and arrive once', async () => {
  const folder = temporaryFolder();
  const away = await startGovernor({ folder, ingest: () => Promise.reject(new Error('the database is away')) });
  const { governed, runId, opened } = await begin(away, { name: 'left' });
  for (let n = 0; n < 30; n += 1) await decidedCall(governed, { tool: 'box.one', input: { n } });
  opened.release();
  await away.close(0);

  const next = await startGovernor({ folder });
  await next.adopt();
  expect([...next.shipping().keys()]).toEqual(['acme']);
  while ((await plane.pool.query('select from audit_entry where session_id = $1', [runId])).rowCount !== 30)
    await new Promise((go) => setImmediate(go));
  await shipped(next);
  await next.close(1_000);
  const last = await startGovernor({ folder });
  await last.adopt();
  expect(last.shipping().size).toBe(0);
  expect(await entriesOf(runId)).toMatchObject({ count: 30 });
});

test('a spool folder that cannot be created refuses the run, with the reason, and the next run tries again', async () => {
  const governor = await startGovernor({ folder: '/dev/null/spool' });
  await expect(begin(governor, { name: 'unspooled' })).rejects.toMatchObject({ code: 'unavailable' });
  expect(governor.shipping().size).toBe(0);
});

test.skipIf(!canMount())('a disk without space for a spool is freed by shipping what an earlier process left there', async () => {
  const folder = temporaryFolder();
  mountAt(folder);
  onTestFinished(() => void unmount(folder));
  const dead = await openTestSpool({ folder });
  let left = 0;
  const fill = (): void => {
    for (;;) {
      dead.append(JSON.stringify({ input: 'x'.repeat(4_000) }));
      left += 1;
    }
  };
  expect(fill).toThrow('the spool cannot be written');
  expect(() => writeFileSync(join(folder, 'rest'), 'x'.repeat(100_000))).toThrow('ENOSPC');
  await dead.close();
  const governor = await startGovernor({ folder });
  const { governed } = await begin(governor, { name: 'roomy' });
  expect((await decidedCall(governed, { tool: 'box.one', input: {} })).verdict.allowed).toBe(true);
  const { rows } = await plane.pool.query('select count(*)::int as count from audit_entry where spool_id = $1', [dead.backlog.id]);
  expect(rows).toEqual([{ count: left }]);
});

test('counts that no limit needs any more are forgotten while the run continues', async () => {
  const clock = createManualClock();
  const governor = await startGovernor({ clock });
  const { governed, opened } = await begin(governor, { name: 'long' });
  const revision = await plane.writePolicy({ tools: { 'box.one': { api: { rateLimit: 100 } } } });
  await opened.sidecar.reached(revision, 10_000);
  const { counters } = opened.sidecar.governing;
  let isDecided = false;
  const deciding = decidedCall(governed, { tool: 'box.one', input: {} }).then(() => {
    isDecided = true;
  });
  const decided = async (): Promise<boolean> => {
    clock.advance(10);
    return isDecided;
  };
  await eventually(decided, (is) => is);
  await deciding;
  expect(counters.size).toBe(1);
  clock.advance(10_000);
  expect(counters.size).toBe(1);
  // It stays in use for one more minute; then the rest of its lease is returned first.
  await new Promise((seen) => setImmediate(seen));
  clock.advance(61_000);
  const later = async (): Promise<number> => {
    clock.advance(50);
    return counters.size;
  };
  await eventually(later, (size) => size === 0);
});

test('two control planes share one limit: it is exact over both', async () => {
  const governors = [await startGovernor(), await startGovernor()];
  await plane.writePolicy({ tools: { 'box.shared': { api: { rateLimit: 10 } } } });
  const { key } = await plane.issueKey(['agents.write']);
  const actor = await authenticate(plane.deps, `Bearer ${key}`);
  const agentId = await plane.createAgent({ name: 'both', enabledTools: ['box.*'] });
  const runs = await Promise.all(
    governors.map(async (governor, at) => {
      const opened = await governor.open({ ...actor, revision: await plane.revision() });
      onTestFinished(() => opened.release());
      return governRun(opened.sidecar.governing, { runId: `both-${at}`, agentId, caller: actor, tier: 'api', client: 'tollgate' });
    }),
  );
  const decided = await Promise.all(
    runs.flatMap((run) => Array.from({ length: 20 }, () => decidedCall(run, { tool: 'box.shared', input: {} }))),
  );
  const codes = decided.map(({ verdict }) => verdict.decision.code);
  expect(codes.filter((code) => code === 'allowed')).toHaveLength(10);
  expect(codes.filter((code) => code === 'rate_limited')).toHaveLength(30);
});

test('entries that wait for the audit log, and entries that were never written, are in the metrics', async () => {
  let takes = false;
  const governor = await startGovernor({
    ingest: (batch) => (takes ? plane.ingest(batch) : Promise.reject(new Error('the database is away'))),
  });
  const registry = new Registry();
  exportGovernor(registry, governor);
  const shown = async (name: string): Promise<number> =>
    Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(await registry.getSingleMetricAsString(name))?.[1]);
  const { governed, opened } = await begin(governor, { name: 'measured' });
  for (let n = 0; n < 3; n += 1) await decidedCall(governed, { tool: 'box.one', input: { n } });
  expect(await shown('tollgate_spool_records')).toBe(3);
  expect(await shown('tollgate_spool_bytes')).toBeGreaterThan(100);
  expect(await shown('tollgate_unrecorded_decisions_total')).toBe(0);
  expect(await shown('tollgate_lease_dry_denials_total')).toBe(0);
  opened.sidecar.governing.unrecorded += 2;
  expect(await shown('tollgate_unrecorded_decisions_total')).toBe(2);
  takes = true;
  await governor.close(5_000);
  expect(await shown('tollgate_spool_records')).toBe(0);
  expect(await shown('tollgate_unrecorded_decisions_total')).toBe(2);
});
