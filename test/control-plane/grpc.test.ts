// The gRPC edge: which clients are accepted, which messages a stream may send, and that entries arrive exactly once.
import { auditService, type SyncRequest, type SyncResponse__Output } from '@tollgate/proto';
import { bounds, snapshotSchemaVersion } from '@tollgate/proto/contract';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { batchProblem, measureRecords } from '../../control-plane/audit/rules/audit-batch.ts';
import { decodeShipRequest } from '../../control-plane/grpc/ship-request.ts';
import { createWorkspace } from '../../control-plane/workspaces/operations/create-workspace.ts';
import { deleteWorkspace } from '../../control-plane/workspaces/operations/delete-workspace.ts';
import { startRun } from '../../sidecar/doors/library/library.ts';
import { followPlane, openShip, openSync, type Plane, startPlane, type Wire } from '../support/plane.ts';
import { temporaryFolder } from '../support/spools.ts';
import { entry, shipped, spool } from './spool.ts';

let plane: Plane;
let ingest: Plane['ingest'];
let sync: { readonly key: string; readonly id: string };

beforeAll(async () => {
  plane = await startPlane();
  ingest = plane.ingest;
  sync = await plane.issueKey(['sidecar.sync', 'govern']);
});

afterAll(() => plane.close());

beforeEach(() => {
  plane.ingest = ingest;
  plane.aheadMs = 0;
});

const hello: SyncRequest = { hello: { sidecarId: 'by-hand', bootId: 'b', form: 'FORM_PROCESS', schemaVersion: snapshotSchemaVersion } };
const shipHello = { hello: { sidecarId: 'by-hand' } };

/** Records of a batch, numbered from `from`. */
const recordsOf = (from: number, count: number) =>
  Array.from({ length: count }, (_, at) => ({
    sequence: from + at,
    entry: Buffer.from(JSON.stringify(entry({ requestId: `r${from + at}`, ts: new Date().toISOString() }))),
  }));

const stored = async (spoolId: string): Promise<readonly number[]> => {
  const { rows } = await plane.pool.query<{ sequence: string }>('select sequence from audit_entry where spool_id = $1 order by sequence', [
    spoolId,
  ]);
  return rows.map(({ sequence }) => Number(sequence));
};

const from1To = (count: number): readonly number[] => Array.from({ length: count }, (_, at) => at + 1);

test.each([
  'no key',
  'text that is no key',
  'an unknown key',
  'a key of another slug',
  'a revoked key',
  'an expired key',
  'a key of a member who left',
] as const)('%s: both services answer UNAUTHENTICATED, and read nothing', async (which) => {
  const keyFor = async (): Promise<string | null> => {
    switch (which) {
      case 'no key':
        return null;
      case 'text that is no key':
        return 'rosebud';
      case 'an unknown key':
        return `gsk_acme_${'a'.repeat(40)}`;
      case 'a key of another slug':
        return sync.key.replace('gsk_acme_', 'gsk_other_');
      case 'a revoked key': {
        const { key, id } = await plane.issueKey(['sidecar.sync']);
        await plane.ask('DELETE', `/acme/admin/keys/${id}`);
        return key;
      }
      case 'an expired key': {
        const { key } = await plane.issueKey(['sidecar.sync'], { expiresAt: new Date(plane.clock.now.getTime() + 1_000).toISOString() });
        await plane.pool.query(
          "update api_key set expires_at = now() - interval '1 day' where name = 'sidecar' and expires_at is not null",
        );
        return key;
      }
      case 'a key of a member who left': {
        const key = await plane.keyOf('member', ['sidecar.sync'], 'leaver');
        await plane.ask('DELETE', '/acme/admin/members/leaver');
        return key;
      }
    }
  };
  const key = await keyFor();
  const policy = openSync(plane, key);
  policy.write(hello);
  const audit = openShip(plane, key);
  audit.write(shipHello);
  audit.write({ batch: { ...shipped(spool('f')), records: recordsOf(1, 1) } });
  const [policyEnd, auditEnd] = await Promise.all([policy.ended, audit.ended]);
  expect(policyEnd).toMatch(/^UNAUTHENTICATED: /);
  expect(auditEnd).toMatch(/^UNAUTHENTICATED: /);
  expect(`${policyEnd} ${auditEnd}`).not.toContain(key ?? 'gsk_acme_0');
  expect([...policy.received, ...audit.received]).toEqual([]);
  expect(await stored(spool('f'))).toEqual([]);
});

test('a key without the scope sidecar.sync: both services answer PERMISSION_DENIED', async () => {
  const { key } = await plane.issueKey(['govern', 'policies.read', 'admin.audit.read']);
  expect(await openSync(plane, key).ended).toBe(
    'PERMISSION_DENIED: the key lacks the scope "sidecar.sync" (for a library: "sidecar.library")',
  );
  expect(await openShip(plane, key).ended).toBe(
    'PERMISSION_DENIED: the key lacks the scope "sidecar.sync" (for a library: "sidecar.library")',
  );
});

test('with the database away both services answer UNAVAILABLE', async () => {
  // A pool that cannot connect would be another plane. Therefore the credential's query is made to fail here instead.
  const query = plane.pool.query.bind(plane.pool);
  Object.assign(plane.pool, { query: () => Promise.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })) });
  try {
    expect(await openSync(plane, sync.key).ended).toMatch(/^UNAVAILABLE: the database /);
    expect(await openShip(plane, sync.key).ended).toMatch(/^UNAVAILABLE: the database /);
  } finally {
    Object.assign(plane.pool, { query });
  }
});

/** A policy stream after its first snapshot, which is not acknowledged yet. */
async function greeted(): Promise<{
  readonly wire: Wire<SyncRequest, SyncResponse__Output>;
  readonly snapshot: NonNullable<SyncResponse__Output['snapshot']>;
}> {
  const wire = openSync(plane, sync.key);
  wire.write(hello);
  const { snapshot } = await wire.next();
  if (snapshot == null) throw new Error('the first message is no snapshot');
  return { wire, snapshot };
}

test('a policy stream that begins with anything but hello is ended', async () => {
  const revision = { epoch: 'e', number: 1 };
  for (const first of [{ ack: { revision, hash: Buffer.alloc(32) } }, { nack: { revision, code: 'internal', message: '' } }]) {
    const wire = openSync(plane, sync.key);
    wire.write(first);
    expect(await wire.ended).toBe('INVALID_ARGUMENT: the first message must be hello');
  }
  const unformed = openSync(plane, sync.key);
  unformed.write({ hello: { ...hello.hello, form: 'FORM_UNSPECIFIED' } });
  expect(await unformed.ended).toMatch(/^INVALID_ARGUMENT: hello.form/);
});

test('hello must be sent only once', async () => {
  const { wire } = await greeted();
  wire.write(hello);
  expect(await wire.ended).toBe('INVALID_ARGUMENT: hello must be sent only once');
});

test('an answer to another revision than the one in flight ends the stream', async () => {
  for (const kind of ['ack', 'nack'] as const) {
    const { wire, snapshot } = await greeted();
    const revision = { epoch: snapshot.revision?.epoch ?? '', number: (snapshot.revision?.number ?? 0) + 1 };
    wire.write(kind === 'ack' ? { ack: { revision, hash: snapshot.hash } } : { nack: { revision, code: 'internal', message: '' } });
    expect(await wire.ended).toMatch(/^INVALID_ARGUMENT: revision \d+ was answered, but \d+ was sent$/);
  }
});

test('a stream that the sidecar ends is ended, and no longer counted', async () => {
  const connected = async (): Promise<number> =>
    Number(/tollgate_sidecars_connected (\d+)/.exec(await plane.registry.getSingleMetricAsString('tollgate_sidecars_connected'))?.[1]);
  await expect.poll(connected).toBe(0);
  const { wire } = await greeted();
  expect(await connected()).toBe(1);
  wire.close();
  await expect.poll(connected).toBe(0);
});

test('a stream is asked to move when it is half an hour old', async () => {
  const { wire } = await greeted();
  plane.aheadMs = bounds.moveMs - 60_000;
  const beats = (): number => wire.received.filter(({ message }) => message === 'heartbeat').length;
  const before = beats();
  await expect.poll(beats, { timeout: 5_000 }).toBeGreaterThan(before);
  expect(wire.received.filter(({ message }) => message === 'move')).toEqual([]);
  plane.aheadMs = bounds.moveMs;
  expect((await wire.next()).message).toBe('move');
});

test('a key that expires while its stream is open ends it, without a write', async () => {
  const { key } = await plane.issueKey(['sidecar.sync'], { expiresAt: new Date(plane.clock.now.getTime() + 3_600_000).toISOString() });
  const wire = openSync(plane, key);
  wire.write(hello);
  expect((await wire.next()).message).toBe('snapshot');
  plane.aheadMs = 3_600_000;
  expect(await wire.ended).toBe('UNAUTHENTICATED: this key has expired');
});

test('a workspace that is removed ends the streams of its sidecars', async () => {
  const { key: owner } = await createWorkspace(plane.deps, { slug: 'short-lived', owner: { uid: 'sam', email: 'sam@short.test' } });
  const wire = openSync(plane, owner);
  wire.write(hello);
  expect((await wire.next()).message).toBe('snapshot');
  // A separate write, so that the control plane knows the workspace before it is removed.
  await plane.ask('PUT', '/short-lived/admin/workspacePolicy', { key: owner, body: { unknownAgents: 'deny' } });
  await deleteWorkspace(plane.deps, 'short-lived', 'short-lived');
  expect(await wire.ended).toBe('UNAUTHENTICATED: the workspace was removed');
});

test('a sidecar that kept policy of a removed workspace receives that of the workspace that has its slug now', async () => {
  const spoolDir = temporaryFolder();
  const owner = { uid: 'sam', email: 'sam@reborn.test' };
  const before = await createWorkspace(plane.deps, { slug: 'reborn', owner });
  for (const unknownAgents of ['deny', 'allow', 'deny'])
    await plane.ask('PUT', '/reborn/admin/workspacePolicy', { key: before.key, body: { unknownAgents } });
  const first = await followPlane(plane, { key: before.key, spoolDir });
  const held = first.sidecar.cell.current?.revision ?? 0;
  await first.close();
  await deleteWorkspace(plane.deps, 'reborn', 'reborn');

  const after = await createWorkspace(plane.deps, { slug: 'reborn', owner });
  const second = await followPlane(plane, { key: after.key, spoolDir });
  await second.logs('snapshot taken');
  expect(second.sidecar.cell.status()).toMatchObject({ revision: held });
  const { body } = await plane.ask('PUT', '/reborn/admin/workspacePolicy', { key: after.key, body: { unknownAgents: 'allow' } });
  await second.reaches(Number(Object(body).revision));
  await second.logs('delta taken');
});

/** An audit stream after its hello. */
async function shipping(key = sync.key) {
  const wire = openShip(plane, key);
  wire.write(shipHello);
  expect(await wire.next()).toMatchObject({ credit: { records: bounds.auditCreditRecords } });
  return wire;
}

test('a batch is acknowledged after it is committed, and a replay adds nothing', async () => {
  const wire = await shipping();
  const all = recordsOf(1, 150);
  const batch = { ...shipped(spool('a')), records: all.slice(0, 100) };
  wire.write({ batch });
  expect(await wire.next()).toMatchObject({ acknowledged: { spoolId: spool('a'), sequence: 100 } });
  expect(await stored(spool('a'))).toEqual(from1To(100));
  wire.write({ batch });
  wire.write({ batch: { ...shipped(spool('a')), records: all.slice(50) } });
  expect(await wire.next()).toMatchObject({ acknowledged: { sequence: 100 } });
  expect(await wire.next()).toMatchObject({ acknowledged: { sequence: 150 } });
  expect(await stored(spool('a'))).toEqual(from1To(150));
});

let goodSpools = 0;
const badBatches = [
  ['a hole within it', { spoolId: spool('b'), records: [...recordsOf(1, 2), ...recordsOf(4, 1)] }, /consecutive sequence numbers/],
  ['a sequence twice', { spoolId: spool('b'), records: [...recordsOf(1, 1), ...recordsOf(1, 1)] }, /consecutive sequence numbers/],
  ['records backwards', { spoolId: spool('b'), records: recordsOf(1, 3).toReversed() }, /consecutive sequence numbers/],
  ['sequence 0', { spoolId: spool('b'), records: recordsOf(0, 2) }, /consecutive sequence numbers/],
  ['a negative sequence', { spoolId: spool('b'), records: recordsOf(-5, 2) }, /consecutive sequence numbers/],
  ['a record without content', { spoolId: spool('b'), records: [{ sequence: 1 }] }, /an entry or a loss/],
  ['no records', { spoolId: spool('b'), records: [] }, /1 to 1000 records/],
  ['1,001 records', { spoolId: spool('b'), records: recordsOf(1, 1_001) }, /1 to 1000 records/],
  [
    'a loss that ends before it begins',
    { spoolId: spool('b'), records: [{ sequence: 2, lost: { last: 1, reason: 'torn' } }] },
    /consecutive sequence numbers/,
  ],
  [
    'a loss of more than there can be',
    { spoolId: spool('b'), records: [{ sequence: 1, lost: { last: 2e9, reason: 'torn' } }] },
    /consecutive sequence numbers/,
  ],
  [
    'a hole after a loss',
    { spoolId: spool('b'), records: [{ sequence: 1, lost: { last: 3, reason: 'torn' } }, ...recordsOf(5, 1)] },
    /consecutive sequence numbers/,
  ],
] as const;

test.each(badBatches)(
  '%s is refused as malformed, nothing of the batch is stored, and the stream continues',
  async (_, { spoolId, records }, words) => {
    const wire = await shipping();
    wire.write({ batch: { ...shipped(spoolId), records: [...records] } });
    expect(await wire.next()).toMatchObject({ refused: { spoolId, code: 'malformed', expected: 0 } });
    const { batch } = decodeShipRequest(auditService.Ship.requestSerialize({ batch: { ...shipped(spoolId), records: [...records] } }));
    expect(batch && batchProblem({ ...batch, ...measureRecords(batch.records) })).toMatch(words);
    expect(await stored(spool('b'))).toEqual([]);
    wire.write({ batch: { ...shipped((goodSpools += 1).toString(16).padStart(32, '7')), records: recordsOf(1, 1) } });
    expect(await wire.next()).toMatchObject({ acknowledged: { sequence: 1 } });
  },
);

test.each([
  ['without a secret', { ...shipped(spool('b')), spoolSecret: Buffer.alloc(0) }],
  ['with a secret of 31 bytes', { ...shipped(spool('b')), spoolSecret: Buffer.alloc(31) }],
  ['of a workspace in upper case', { ...shipped(spool('b')), workspaceId: 'A'.repeat(32) }],
])('a batch %s is refused as malformed', async (_, batch) => {
  const wire = await shipping();
  wire.write({ batch: { ...batch, records: recordsOf(1, 1) } });
  expect(await wire.next()).toMatchObject({ refused: { code: 'malformed' } });
});

test.each([
  ['no spool', ''],
  ['a spool in upper case', 'B'.repeat(32)],
  ['a spool of 33 digits', 'b'.repeat(33)],
  ['a spool with a newline after it', `${'b'.repeat(32)}\n`],
])('a batch of %s is malformed, and ends the stream', async (_, spoolId) => {
  const wire = await shipping();
  wire.write({ batch: { ...shipped(spoolId), records: recordsOf(1, 1) } });
  expect(await wire.ended).toBe('INVALID_ARGUMENT: batch.spool_id must be 32 hex digits');
});

test('an audit stream that begins with a batch, or says hello twice, is ended', async () => {
  const early = openShip(plane, sync.key);
  early.write({ batch: { ...shipped(spool('b')), records: recordsOf(1, 1) } });
  expect(await early.ended).toBe('INVALID_ARGUMENT: the first message must be hello');
  const twice = await shipping();
  twice.write(shipHello);
  expect(await twice.ended).toBe('INVALID_ARGUMENT: hello must be sent only once');
  expect(await stored(spool('b'))).toEqual([]);
});

test('more unacknowledged records than the credit end the stream; committed records stay', async () => {
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  plane.ingest = async (batch) => {
    await held;
    return ingest(batch);
  };
  const wire = await shipping();
  wire.write({ batch: { ...shipped(spool('c')), records: recordsOf(1, 1_000) } });
  // Small records, so that their number counts.
  const lost = (sequence: number) => ({ sequence, lost: { last: sequence, reason: 'torn' } });
  for (let from = 1_001; from <= 8_001; from += 1_000)
    wire.write({ batch: { ...shipped(spool('c')), records: Array.from({ length: 1_000 }, (_, at) => lost(from + at)) } });
  expect(await wire.ended).toBe('INVALID_ARGUMENT: more than 8000 records are unacknowledged');
  release();
  await expect.poll(() => stored(spool('c'))).toEqual(from1To(1_000));
});

test('a database that goes away during ingestion ends the stream with UNAVAILABLE', async () => {
  plane.ingest = () => Promise.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }));
  const wire = await shipping();
  wire.write({ batch: { ...shipped(spool('d')), records: recordsOf(1, 1) } });
  expect(await wire.ended).toMatch(/^UNAVAILABLE: the database /);
});

test('an internal error during ingestion ends the stream without its text', async () => {
  plane.ingest = () => Promise.reject(new TypeError('secret.of is not a function'));
  const wire = await shipping();
  wire.write({ batch: { ...shipped(spool('d')), records: recordsOf(1, 1) } });
  expect(await wire.ended).toBe('INTERNAL: internal error');
});

test('two workspaces with the same spool id are independent', async () => {
  const theirs = await plane.ask('POST', '/other/admin/keys', { key: plane.other, body: { name: 'k', scopes: ['sidecar.sync'] } });
  const key = String(Object.entries(theirs.body ?? {}).find(([name]) => name === 'key')?.[1]);
  for (const wire of [await shipping(), await shipping(key)]) {
    wire.write({ batch: { ...shipped(spool('e')), records: recordsOf(1, 10) } });
    expect(await wire.next()).toMatchObject({ acknowledged: { sequence: 10 } });
  }
  const { rows } = await plane.pool.query<{ count: string }>('select count(*) from audit_entry where spool_id = $1 group by workspace_id', [
    spool('e'),
  ]);
  expect(rows.map(({ count }) => Number(count))).toEqual([10, 10]);
});

test('entries of a sidecar arrive exactly once, with the server killed after a commit that it never acknowledged', async () => {
  const folder = temporaryFolder();
  const { sidecar, close } = await followPlane(plane, { form: 'library', key: sync.key, spoolDir: folder });
  const run = startRun(sidecar, { agent: 'bot', tier: 'api', sessionId: 'exactly-once' });
  let restarts = 0;
  let committed = 0;
  plane.ingest = async (batch) => {
    const sequence = await ingest(batch);
    committed += 1;
    if (committed === 2 || committed === 4) {
      restarts += 1;
      await plane.stopGrpc();
      await plane.startGrpc();
    }
    return sequence;
  };
  for (let n = 0; n < 3_000; n += 1) {
    await run.decide({ tool: 'mail.send', input: { n } });
    if (n % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await close(25_000);
  expect(sidecar.shipping()).toMatchObject({ link: 'closed', records: 0, lost: 0 });
  expect(restarts).toBe(2);
  const { rows } = await plane.pool.query<{ sequence: string; n: string }>(
    "select sequence, entry->'input'->>'n' as n from audit_entry where session_id = 'exactly-once' order by sequence",
  );
  expect(rows.map(({ sequence, n }) => [Number(sequence), Number(n)])).toEqual(Array.from({ length: 3_000 }, (_, n) => [n + 1, n]));
  const gaps = await plane.pool.query('select 1 from audit_gap');
  expect(gaps.rowCount).toBe(0);
});

test('a sidecar follows its control plane again after a restart', async () => {
  const { sidecar, logs, reaches } = await followPlane(plane, { key: sync.key });
  await plane.stopGrpc();
  await logs('policy stream lost');
  expect(sidecar.cell.status()).toMatchObject({ connected: false, refused: null });
  expect(sidecar.notReady()).toEqual([]);
  const revision = await plane.writePolicy({ tools: { 'mail.send': { api: { permission: 'deny' } } } });
  await plane.startGrpc();
  await reaches(revision);
  expect(sidecar.cell.status()).toMatchObject({ connected: true });
});

test('a sidecar that starts without a control plane decides by the policy on its disk', async () => {
  const folder = temporaryFolder();
  const first = await followPlane(plane, { form: 'library', key: sync.key, spoolDir: folder });
  const revision = await plane.writePolicy({ tools: { 'disk.test': { api: { permission: 'deny' } } } });
  await first.reaches(revision);
  await first.close(5_000);
  await plane.stopGrpc();
  try {
    const second = await followPlane(plane, { form: 'library', key: sync.key, spoolDir: folder });
    expect(second.sidecar.cell.status()).toMatchObject({ revision, connected: false });
    const run = startRun(second.sidecar, { agent: 'bot', tier: 'api' });
    expect((await run.decide({ tool: 'disk.test', input: null })).decision.code).toBe('policy_denied');
    expect((await run.decide({ tool: 'other', input: null })).decision.code).toBe('allowed');
  } finally {
    await plane.startGrpc();
  }
});
