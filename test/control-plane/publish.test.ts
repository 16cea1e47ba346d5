// A write of policy takes effect at real sidecars over real streams.
import { setImmediate as turn } from 'node:timers/promises';
import { policyService, type SyncRequest__Output, type SyncResponse__Output } from '@tollgate/proto';
import { hashKey, snapshotHash, snapshotSchemaVersion } from '@tollgate/proto/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { WorkspaceRead } from '../../control-plane/workspaces/rules.ts';
import { authenticate } from '../../control-plane/access/operations/authenticate.ts';
import { createPublisher, type PublishedView } from '../../control-plane/publish/publisher.ts';
import { readWorkspace } from '../../control-plane/workspaces/store/workspace-state.ts';
import { startRun } from '../../sidecar/doors/library/library.ts';
import { emptyState } from '../publish/workspace.ts';
import { followPlane, openSync, type Plane, startPlane } from '../support/plane.ts';
import { field } from './rest.ts';

let plane: Plane;
let sync: { readonly key: string; readonly id: string };

beforeAll(async () => {
  plane = await startPlane();
  sync = await plane.issueKey(['sidecar.sync', 'govern', 'govern.impersonate']);
});

afterAll(() => plane.close());

type Hello__Output = NonNullable<SyncRequest__Output['hello']>;
type DeltaOut = NonNullable<SyncResponse__Output['delta']>;
type SnapshotOut = NonNullable<SyncResponse__Output['snapshot']>;

function snapshotOf({ snapshot }: SyncResponse__Output): SnapshotOut {
  if (snapshot == null) throw new Error('the message is no snapshot');
  return snapshot;
}

const hello = (
  form: 'FORM_PROCESS' | 'FORM_LIBRARY' = 'FORM_PROCESS',
  held: Partial<Pick<Hello__Output, 'held' | 'heldHash' | 'capabilities'>> = {},
) => ({
  hello: { sidecarId: 'by-hand', bootId: 'b', form, schemaVersion: snapshotSchemaVersion, ...held },
});

const ackOf = ({ revision, hash }: SnapshotOut) => ({ ack: { revision, hash } });

test('a write reaches every sidecar, in order, however many follow', async () => {
  const [library, process] = await Promise.all([
    followPlane(plane, { form: 'library', key: sync.key }),
    followPlane(plane, { key: sync.key }),
  ]);
  const run = startRun(library.sidecar, { agent: 'bot', tier: 'api' });
  const decided = async () => (await run.decide({ tool: 'mail.send', input: null })).decision.code;
  expect(await decided()).toBe('allowed');
  const denied = await plane.writePolicy({ tools: { 'mail.send': { api: { permission: 'deny' } } } });
  await Promise.all([library.reaches(denied), process.reaches(denied)]);
  expect(await decided()).toBe('policy_denied');
  expect(process.sidecar.cell.current?.documents.size).toBe(1);
  const allowed = await plane.writePolicy({ tools: { 'mail.send': { api: { permission: 'allow' } } } });
  await library.reaches(allowed);
  expect(await decided()).toBe('allowed');
  await plane.ask('POST', '/acme/admin/freeze');
  await library.reaches(allowed + 1);
  expect(await decided()).toBe('workspace_frozen');
  await plane.ask('POST', '/acme/admin/unfreeze');
  await library.reaches(allowed + 2);
  expect(await decided()).toBe('allowed');
});

test('a write of one workspace reaches no sidecar of another', async () => {
  const other = await plane.ask('POST', '/other/admin/keys', { key: plane.other, body: { name: 'k', scopes: ['sidecar.sync'] } });
  const theirs = await followPlane(plane, { key: field(other, 'key') });
  const ours = await followPlane(plane, { key: sync.key });
  const before = theirs.sidecar.cell.current;
  await ours.reaches(await plane.writePolicy({ tools: { 'mail.send': { api: { rateLimit: 7 } } } }));
  expect(theirs.sidecar.cell.current).toBe(before);
  expect(before?.settings.workspace).toBe('other');
  expect([...(before?.members.keys() ?? [])]).toEqual(['olga']);
});

test('after a sync key is revoked the stream ends, and everything is denied', async () => {
  const { key, id } = await plane.issueKey(['sidecar.sync', 'govern']);
  const { sidecar, logs } = await followPlane(plane, { form: 'library', key });
  const run = startRun(sidecar, { agent: 'bot', tier: 'api' });
  expect((await run.decide({ tool: 'mail.read', input: null })).allowed).toBe(true);
  await plane.ask('DELETE', `/acme/admin/keys/${id}`);
  expect(await logs('policy stream lost')).toMatchObject({ problem: expect.stringContaining('revoked') });
  expect((await run.decide({ tool: 'mail.read', input: null })).decision).toMatchObject({ code: 'key_revoked' });
  expect(sidecar.notReady()).toEqual([expect.stringContaining('the control plane refuses the key')]);
});

test('the keys of a member who leaves lose their permissions at every sidecar', async () => {
  const memberKey = await plane.keyOf('member', ['govern'], 'leaver');
  const { sidecar, reaches } = await followPlane(plane, { key: sync.key });
  expect(sidecar.cell.current?.keysByHash.has(hashKey(memberKey))).toBe(true);
  await plane.ask('DELETE', '/acme/admin/members/leaver');
  await reaches(await plane.revision());
  expect(sidecar.cell.current?.keysByHash.has(hashKey(memberKey))).toBe(false);
  expect(sidecar.cell.current?.members.has('leaver')).toBe(false);
});

test("a library's view holds no key hashes, only its own key, and of members and their documents only its own", async () => {
  await plane.keyOf('member', ['govern'], 'ann');
  await plane.keyOf('member', ['govern'], 'bob');
  for (const uid of ['ann', 'bob'])
    await plane.ask('PUT', `/acme/admin/userPolicies/${uid}`, { body: { tools: { 'mail.send': { api: { rateLimit: 3 } } } } });
  const personal = await plane.issueKey(['sidecar.sync', 'govern'], { uid: 'ann' });
  const viewOf = async (key: string): Promise<SnapshotOut> => {
    const wire = openSync(plane, key);
    wire.write(hello('FORM_LIBRARY'));
    return snapshotOf(await wire.next());
  };
  const names = ({ entries }: SnapshotOut, kind: string) => entries.map(({ key }) => key).filter((key) => key.startsWith(kind));
  const view = await viewOf(personal.key);
  expect(names(view, 'key/')).toEqual([`key/${personal.id}`]);
  expect(names(view, 'member/')).toEqual(['member/ann']);
  expect(names(view, 'document/user:')).toEqual(['document/user:ann:organisation']);
  expect(names(view, 'document/workspace')).toEqual(['document/workspace']);

  const impersonating = await viewOf(sync.key);
  expect(names(impersonating, 'member/')).toEqual(expect.arrayContaining(['member/ann', 'member/bob', 'member/owner']));
  expect(names(impersonating, 'document/user:')).toHaveLength(2);
  const { rows } = await plane.pool.query<{ hash: string }>('select hash from api_key');
  expect(rows.length).toBeGreaterThan(3);
  for (const one of [view, impersonating]) {
    const text = one.entries.map(({ value }) => value.toString()).join('\n');
    for (const { hash } of rows) expect(text).not.toContain(hash);
    expect(snapshotHash(one.entries).equals(one.hash)).toBe(true);
  }
});

test('at most one push is unacknowledged; writes in the meantime arrive merged into the newest revision', async () => {
  const fast = await followPlane(plane, { key: sync.key });
  const slow = openSync(plane, sync.key);
  slow.write(hello());
  const first = snapshotOf(await slow.next());
  let newest = 0;
  for (const limit of [11, 12, 13, 14, 15]) newest = await plane.writePolicy({ tools: { 'mail.send': { api: { rateLimit: limit } } } });
  await fast.reaches(newest);
  const sent = slow.received.filter(({ message }) => message === 'snapshot');
  expect(sent).toHaveLength(1);
  slow.write(ackOf(first));
  const second = snapshotOf(await slow.next());
  expect(second.revision).toEqual({ epoch: first.revision?.epoch, number: newest });
  slow.write(ackOf(second));
  const last = await plane.writePolicy({ tools: { 'mail.send': { api: { rateLimit: 16 } } } });
  expect(snapshotOf(await slow.next()).revision?.number).toBe(last);
});

test('content that a sidecar holds already is not sent again, only its revision', async () => {
  const first = openSync(plane, sync.key);
  first.write(hello());
  const snapshot = snapshotOf(await first.next());
  const again = openSync(plane, sync.key);
  again.write(hello('FORM_PROCESS', { heldHash: snapshot.hash }));
  expect(await again.next()).toMatchObject({ message: 'unchanged', unchanged: { revision: snapshot.revision, hash: snapshot.hash } });

  first.write(ackOf(snapshot));
  // A patch that changes nothing: a new revision of the same content.
  const same = await plane.writePolicy({});
  const moved = await first.next();
  expect(moved).toMatchObject({ message: 'unchanged', unchanged: { revision: { number: same }, hash: snapshot.hash } });
  first.write({ ack: { revision: { epoch: snapshot.revision?.epoch ?? '', number: same }, hash: snapshot.hash } });
  const changed = await plane.writePolicy({ tools: { 'mail.send': { api: { rateLimit: 17 } } } });
  expect(snapshotOf(await first.next()).revision?.number).toBe(changed);
});

function deltaOf({ delta }: SyncResponse__Output): DeltaOut {
  if (delta == null) throw new Error('the message is no delta');
  return delta;
}

/** The hash of the snapshot that a sidecar builds from it. */
function hashAfter(entries: SnapshotOut['entries'], { changed, removed }: DeltaOut): Buffer {
  const held = new Map(entries.map((entry) => [entry.key, entry]));
  for (const key of removed) held.delete(key);
  for (const entry of changed) held.set(entry.key, entry);
  return snapshotHash(held.values());
}

test('a sidecar that supports deltas receives the changes, also after it was away', async () => {
  const wire = openSync(plane, sync.key);
  wire.write(hello('FORM_PROCESS', { capabilities: ['deltas'] }));
  const first = snapshotOf(await wire.next());
  wire.write(ackOf(first));
  const written = await plane.writePolicy({ tools: { 'mail.send': { api: { rateLimit: 31 } } } });
  const delta = deltaOf(await wire.next());
  expect(delta).toMatchObject({ from: first.revision, to: { number: written }, workspace: 'acme' });
  expect(delta.changed.map(({ key }) => key)).toEqual(['document/workspace']);
  expect(hashAfter(first.entries, delta).equals(delta.hash)).toBe(true);
  wire.close();
  const { id } = await plane.issueKey(['govern']);
  const newest = await plane.writePolicy({ tools: { 'mail.send': { api: { rateLimit: 32 } } } });
  const again = openSync(plane, sync.key);
  again.write(hello('FORM_PROCESS', { capabilities: ['deltas'], held: first.revision, heldHash: first.hash }));
  const both = deltaOf(await again.next());
  expect(both).toMatchObject({ from: first.revision, to: { number: newest } });
  // Where it skipped a revision it also sends the settings: they might have differed in between.
  expect(both.changed.map(({ key }) => key).filter((key) => key !== 'settings')).toEqual(['document/workspace', `key/${id}`]);
  expect(hashAfter(first.entries, both).equals(both.hash)).toBe(true);
});

test('a control plane that has just started updates from a revision that it never held', async () => {
  const wire = openSync(plane, sync.key);
  wire.write(hello('FORM_PROCESS', { capabilities: ['deltas'] }));
  const first = snapshotOf(await wire.next());
  await plane.writePolicy({ tools: { 'mail.send': { api: { rateLimit: 33 } } } });
  const fresh = createPublisher({ read: (id, since) => readWorkspace(plane.pool, id, since), defaults, log: silent });
  const { workspaceId } = await authenticate(plane.deps, `Bearer ${sync.key}`);
  const published = await new Promise<PublishedView>((offer) => {
    fresh.follow(workspaceId, { view: { form: 'process' }, offer, gone: () => undefined });
  });
  const { delta } = policyService.Sync.responseDeserialize(published.delta(first.revision ?? { epoch: '', number: 0 }) ?? Buffer.alloc(0));
  if (delta == null) throw new Error('there is no delta');
  expect(hashAfter(first.entries, delta).equals(published.hash)).toBe(true);
  fresh.close();
});

test('a sidecar that refuses a delta receives the full snapshot, once', async () => {
  const wire = openSync(plane, sync.key);
  wire.write(hello('FORM_PROCESS', { capabilities: ['deltas'] }));
  wire.write(ackOf(snapshotOf(await wire.next())));
  await plane.writePolicy({ tools: { 'mail.send': { api: { rateLimit: 34 } } } });
  const { to } = deltaOf(await wire.next());
  wire.write({ nack: { revision: to, code: 'hash_mismatch', message: 'no' } });
  const whole = snapshotOf(await wire.next());
  expect(whole.revision).toEqual(to);
  wire.write({ nack: { revision: to, code: 'hash_mismatch', message: 'no' } });
  const next = await plane.writePolicy({ tools: { 'mail.send': { api: { rateLimit: 35 } } } });
  expect(snapshotOf(await wire.next()).revision?.number).toBe(next);
  expect(wire.received.filter(({ message }) => message === 'snapshot')).toHaveLength(3);
});

test('a sidecar that reconnects at the current revision receives no byte of it', async () => {
  const first = openSync(plane, sync.key);
  first.write(hello());
  const { revision, hash } = snapshotOf(await first.next());
  for (let n = 0; n < 30; n += 1) {
    const again = openSync(plane, sync.key);
    again.write(hello('FORM_PROCESS', { capabilities: ['deltas'], held: revision, heldHash: hash }));
    expect((await again.next()).message).toBe('unchanged');
    expect(again.received.filter(({ message }) => message === 'snapshot' || message === 'delta')).toEqual([]);
    again.close();
  }
});

test('a sidecar that never acknowledges receives one push, however many writes follow, and the others continue', async () => {
  const stalled = openSync(plane, sync.key);
  stalled.write(hello('FORM_PROCESS', { capabilities: ['deltas'] }));
  await stalled.next();
  const { reaches, events } = await followPlane(plane, { key: sync.key });
  for (let limit = 40; limit < 60; limit += 1)
    await reaches(await plane.writePolicy({ tools: { 'mail.send': { api: { rateLimit: limit } } } }));
  expect(events.filter(({ message }) => message === 'delta taken')).toHaveLength(20);
  expect(stalled.received.filter(({ message }) => message !== 'heartbeat')).toHaveLength(1);
});

test('a nack is an answer: the stream continues, and the next revision is sent in full', async () => {
  const wire = openSync(plane, sync.key);
  wire.write(hello());
  const first = snapshotOf(await wire.next());
  wire.write({ nack: { revision: first.revision, code: 'entry_invalid', message: 'no' } });
  const next = await plane.writePolicy({ tools: { 'mail.send': { api: { rateLimit: 21 } } } });
  expect(snapshotOf(await wire.next()).revision?.number).toBe(next);
  expect(await plane.registry.getSingleMetricAsString('tollgate_snapshots_refused_total')).toContain('code="entry_invalid"');
});

test('heartbeats name the newest revision', async () => {
  const wire = openSync(plane, sync.key);
  wire.write(hello());
  const first = snapshotOf(await wire.next());
  wire.write(ackOf(first));
  const { sidecar, reaches } = await followPlane(plane, { key: sync.key });
  const written = await plane.writePolicy({ tools: { 'mail.send': { api: { rateLimit: 22 } } } });
  await reaches(written);
  await expect
    .poll(() => wire.received.findLast(({ message }) => message === 'heartbeat')?.heartbeat?.current?.number, { timeout: 5_000 })
    .toBe(written);
  await expect.poll(() => sidecar.cell.status().announced, { timeout: 5_000 }).toBe(written);
});

test('a lost listener causes a poll and loses no revision', async () => {
  const { reaches } = await followPlane(plane, { key: sync.key });
  const listening = "datname = current_database() and pid <> pg_backend_pid() and (query ilike 'listen %' or query = 'select 1')";
  const { rowCount } = await plane.pool.query(`select pg_terminate_backend(pid) from pg_stat_activity where ${listening}`);
  expect(rowCount).toBeGreaterThan(0);
  await reaches(await plane.writePolicy({ tools: { 'mail.send': { api: { rateLimit: 23 } } } }));
  await expect.poll(() => plane.watch.problem, { timeout: 10_000 }).toBeNull();
});

const state = (revision: number): WorkspaceRead => ({
  kind: 'whole',
  state: emptyState({ revision }),
  touchedSince: revision,
  touched: [],
});
const defaults = { defaultPermission: 'allow', windowSeconds: 60 } as const;
const silent = { warn: () => undefined };

test('a revision is read once and encoded once for each view, however many follow', async () => {
  let reads = 0;
  const publisher = createPublisher({ read: () => Promise.resolve(state((reads += 1))), defaults, log: silent });
  const offered: PublishedView[] = [];
  const stops = Array.from({ length: 50 }, (_, at) =>
    publisher.follow(1, {
      view: at % 2 === 0 ? { form: 'process' } : { form: 'library', keyId: 'k' },
      offer: (published) => void offered.push(published),
      gone: () => undefined,
    }),
  );
  await turn();
  expect(reads).toBe(1);
  expect(offered).toHaveLength(50);
  expect(new Set(offered.map((published) => published.whole())).size).toBe(2);
  publisher.raised(1, 2, 0);
  publisher.raised(1, 2, 0);
  await turn();
  expect(reads).toBe(2);
  expect(offered).toHaveLength(100);
  expect(publisher.live(1)?.revision).toBe(2);
  for (const stop of stops) stop();
  publisher.raised(1, 3, 0);
  await turn();
  expect(reads).toBe(2);
  expect(publisher.live(1)).toBeNull();
  publisher.close();
});

test('a revision raised while another is read is read after it', async () => {
  const waiting: ((state: WorkspaceRead) => void)[] = [];
  const publisher = createPublisher({ read: () => new Promise((resolve) => waiting.push(resolve)), defaults, log: silent });
  const revisions: number[] = [];
  publisher.follow(1, { view: { form: 'process' }, offer: ({ revision }) => void revisions.push(revision), gone: () => undefined });
  publisher.raised(1, 2, 0);
  publisher.raised(1, 3, 0);
  expect(waiting).toHaveLength(1);
  waiting[0]?.(state(1));
  await turn();
  expect({ revisions, reads: waiting.length }).toEqual({ revisions: [1], reads: 2 });
  waiting[1]?.(state(3));
  await turn();
  expect({ revisions, reads: waiting.length }).toEqual({ revisions: [1, 3], reads: 2 });
  publisher.close();
});

test('a read that fails is tried again, and the follower waits for it', async () => {
  const warnings: string[] = [];
  let reads = 0;
  const read = async () => {
    reads += 1;
    if (reads === 1) throw new Error('the database is away');
    return state(4);
  };
  const publisher = createPublisher({ read, defaults, log: { warn: (_, message) => void warnings.push(message) } });
  const offered = new Promise<number>((resolve) => {
    publisher.follow(1, { view: { form: 'process' }, offer: ({ revision }) => resolve(revision), gone: () => undefined });
  });
  expect(await offered).toBe(4);
  expect(warnings).toEqual([expect.stringContaining('trying again')]);
  publisher.close();
});
