// Who may see which sidecars, and that a false message ends the stream of its sidecar and affects no other.
import type { SyncRequest, SyncResponse__Output } from '@tollgate/proto';
import { bounds, snapshotSchemaVersion } from '@tollgate/proto/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRoster, type Roster } from '../../control-plane/sidecars/operations/roster.ts';
import { removeOldSidecars } from '../../control-plane/sidecars/operations/remove-old-sidecars.ts';
import { temporaryFolder } from '../support/spools.ts';
import { followPlane, openSync, type Plane, startPlane, type Wire } from '../support/plane.ts';

let plane: Plane;
let sync: { readonly key: string; readonly id: string };
beforeAll(async () => {
  plane = await startPlane();
  sync = await plane.issueKey(['sidecar.sync', 'govern']);
});
afterAll(() => plane.close());

interface Listed {
  readonly id: string;
  readonly bootId: string;
  readonly keyId: string;
  readonly connected: boolean;
  readonly connectedSince: string;
  readonly lastSeen: string;
  readonly held: { readonly epoch: string; readonly number: number } | null;
  readonly lag: { readonly revisions: number; readonly seconds: number } | null;
  readonly lastNack: { readonly code: string; readonly message: string; readonly at: string } | null;
  readonly status: object | null;
}

async function list(): Promise<{ readonly revision: number; readonly sidecars: readonly Listed[] }> {
  await plane.roster.write();
  const { status, body } = await plane.ask('GET', '/acme/admin/sidecars?limit=1000');
  expect(status).toBe(200);
  return body as { readonly revision: number; readonly sidecars: readonly Listed[] };
}

const listed = async (name: string): Promise<Listed | undefined> => (await list()).sidecars.find(({ id }) => id === name);

const helloOf = (sidecarId: string, fields: object = {}): SyncRequest => ({
  hello: { sidecarId, bootId: `${sidecarId}-boot`, form: 'FORM_PROCESS', schemaVersion: snapshotSchemaVersion, ...fields },
});

const statusOf = (fields: object = {}) => ({
  status: { spoolRecords: 3, spoolBytes: 700, spoolAgeMs: 1_500, unrecorded: 1, outageDecisions: 2, version: '0.1.0', ...fields },
});

type Sync = Wire<SyncRequest, SyncResponse__Output>;

/** A sidecar written by hand, after its first snapshot, which is not acknowledged yet. */
async function greeted(
  name: string,
  fields: object = {},
): Promise<{ readonly wire: Sync; readonly snapshot: NonNullable<SyncResponse__Output['snapshot']> }> {
  const wire = openSync(plane, sync.key);
  wire.write(helloOf(name, fields));
  const { snapshot } = await wire.next();
  if (snapshot == null) throw new Error('the first message is no snapshot');
  return { wire, snapshot };
}

async function acknowledged(name: string): Promise<Sync> {
  const { wire, snapshot } = await greeted(name);
  wire.write({ ack: { revision: snapshot.revision, hash: snapshot.hash } });
  return wire;
}

test('a sidecar is listed with its revision and its state, follows the newest revision, and has left once it is closed', async () => {
  const { close, reaches, events } = await followPlane(plane, { key: sync.key, sidecarId: 'edge-1' });
  const newest = await plane.revision();
  // Its first status can be from before the first heartbeat, by which it compares its clock.
  await expect
    .poll(async () => (await listed('edge-1'))?.status ?? null, { timeout: 30_000 })
    .toMatchObject({ clockAheadSeconds: expect.any(Number) });
  await expect.poll(async () => (await listed('edge-1'))?.lag).toEqual({ revisions: 0, seconds: 0 });
  expect(await listed('edge-1')).toEqual({
    id: 'edge-1',
    bootId: expect.stringMatching(/^[0-9a-f]{16}$/),
    form: 'process',
    keyId: sync.id,
    connected: true,
    connectedSince: expect.stringMatching(/^\d{4}-.*Z$/),
    lastSeen: expect.stringMatching(/^\d{4}-.*Z$/),
    controlPlane: 'plane-1',
    held: { epoch: expect.any(String), number: newest },
    lag: { revisions: 0, seconds: 0 },
    lastNack: null,
    lacks: [],
    status: {
      version: '0.1.0',
      spool: { records: 0, bytes: expect.any(Number), ageSeconds: 0 },
      unrecorded: 0,
      outageDecisions: 0,
      refused: { spools: 0, records: 0 },
      clockAheadSeconds: 0,
    },
  });
  const next = await plane.writePolicy({ unknownAgents: 'allow' });
  await reaches(next);
  await expect.poll(async () => (await listed('edge-1'))?.held?.number).toBe(next);
  expect(events.map(({ message }) => message)).toContain('delta taken');
  await close();
  await expect.poll(async () => (await listed('edge-1'))?.connected).toBe(false);
  expect(await listed('edge-1')).toMatchObject({ held: { number: next }, lag: { revisions: 0 } });
});

test('a sidecar whose clock is wrong is listed with the difference, and one of an earlier version reports none', async () => {
  const { wire } = await greeted('clock');
  wire.write(statusOf());
  await expect.poll(async () => (await listed('clock'))?.status ?? null).toMatchObject({ clockAheadSeconds: null });
  wire.write(statusOf({ clock: { aheadSeconds: -3_600 } }));
  await expect.poll(async () => (await listed('clock'))?.status ?? null).toMatchObject({ clockAheadSeconds: -3_600 });
  wire.close();
});

test('a sidecar compares its clock with that of the control plane, warns once, and reports the difference', async () => {
  plane.aheadMs = 3_600_000;
  try {
    const { logs, sidecar } = await followPlane(plane, { key: sync.key, sidecarId: 'slow-clock' });
    expect(await logs(clockDiffers)).toMatchObject({ clockAheadSeconds: -3_600 });
    expect(sidecar.cell.status().clockAheadMs).toBeLessThan(-3_590_000);
    await expect.poll(async () => (await listed('slow-clock'))?.status ?? null).toMatchObject({ clockAheadSeconds: -3_600 });
  } finally {
    plane.aheadMs = 0;
  }
});

const clockDiffers =
  'the clock of this machine differs from that of the control plane by more than a minute; keys expire by the time of the control plane, but entries carry the time of this machine: set its clock';

test('a library is listed as one, also follows by deltas, and reconnects by its file with the revision that it held', async () => {
  const spoolDir = temporaryFolder();
  const library = { key: sync.key, sidecarId: 'inside', form: 'library', spoolDir } as const;
  const first = await followPlane(plane, library);
  for (const unknownAgents of ['deny', 'allow'] as const) await first.reaches(await plane.writePolicy({ unknownAgents }));
  expect(first.events.filter(({ message }) => message === 'delta taken').length).toBeGreaterThan(0);
  expect(first.events.filter(({ message }) => message.endsWith('refused'))).toEqual([]);
  const hash = first.sidecar.cell.current?.hash;
  await first.close();
  const second = await followPlane(plane, library);
  expect(second.sidecar.cell.current?.hash).toEqual(hash);
  expect(second.events.filter(({ message }) => message.endsWith('taken'))).toEqual([]);
  await expect.poll(async () => (await list()).sidecars.filter(({ id, connected }) => id === 'inside' && connected)).toHaveLength(1);
  expect(await listed('inside')).toMatchObject({ form: 'library', connected: true, lag: { revisions: 0 } });
});

test('one that does not answer is behind, in revisions and in seconds since the first missing one; one that holds nothing has no lag', async () => {
  const wire = await acknowledged('slow');
  const empty = await greeted('empty');
  const held = await plane.revision();
  await plane.pool.query("update admin_event set at = now() - interval '2 minutes' where revision > $1", [held]);
  plane.clock.now = new Date(Date.now() - 90_000);
  await plane.writePolicy({ unknownAgents: 'deny' });
  plane.clock.now = new Date();
  await plane.writePolicy({ unknownAgents: 'allow' });
  await wire.next();
  await expect.poll(async () => (await listed('slow'))?.lag?.revisions).toBe(2);
  const slow = await listed('slow');
  expect(slow).toMatchObject({ connected: true, held: { number: held } });
  expect(slow?.lag?.seconds).toBeGreaterThan(85);
  expect(slow?.lag?.seconds).toBeLessThan(600);
  expect(await listed('empty')).toMatchObject({ connected: true, held: null, lag: null, status: null });
  // The list counts from the newest revision of the database, and the metric from the newest that this control plane has read.
  const metric = (): Promise<string> => plane.registry.getSingleMetricAsString('tollgate_sidecars_by_lag');
  await expect.poll(metric).toContain('tollgate_sidecars_by_lag{revisions="2-9"} 1');
  expect(await metric()).toContain('tollgate_sidecars_by_lag{revisions="nothing"} 1');
  wire.close();
  empty.wire.close();
});

test('its own report is shown; the last refusal stays, with its time, also after it has accepted the next revision', async () => {
  const { wire, snapshot } = await greeted('refuser');
  const startedAt = Date.now();
  wire.write({ nack: { revision: snapshot.revision, code: 'entry_invalid', message: 'entry "agent/x":\u0007 must be\ntext' } });
  wire.write(statusOf());
  await expect.poll(async () => (await listed('refuser'))?.status ?? null).not.toBeNull();
  const refused = await listed('refuser');
  expect(refused).toMatchObject({
    held: null,
    lastNack: { code: 'entry_invalid', message: 'entry "agent/x":\uFFFD must be\uFFFDtext' },
    status: { version: '0.1.0', spool: { records: 3, bytes: 700, ageSeconds: 1.5 }, unrecorded: 1, outageDecisions: 2 },
  });
  expect(Date.parse(refused?.lastNack?.at ?? '')).toBeGreaterThanOrEqual(startedAt - 1_000);
  const revision = await plane.writePolicy({ unknownAgents: 'deny' });
  const { snapshot: whole } = await wire.next();
  if (whole == null) throw new Error('the next message is no snapshot');
  wire.write({ ack: { revision: whole.revision, hash: whole.hash } });
  await expect.poll(async () => (await listed('refuser'))?.held?.number).toBe(revision);
  expect(await listed('refuser')).toMatchObject({ lastNack: refused?.lastNack, lag: { revisions: 0 } });
  wire.close();
});

/** Longer than any test: the tests decide when a write happens. */
const neverMs = 2 ** 30;

/** The rosters of two control planes, and how many statements a write of each makes. */
function rosters() {
  const time = { at: 1_000 };
  let statements = 0;
  const query = (...words: Parameters<typeof plane.pool.query>): unknown => {
    statements += 1;
    return plane.pool.query(...words);
  };
  const pool: typeof plane.pool = Object.create(plane.pool, { query: { value: query } });
  const made = (name: string): Roster =>
    createRoster({ ...plane.deps, pool, wallTime: Date.now, now: () => time.at, log: { warn: () => undefined } }, name, neverMs);
  const statementsOf = async (write: () => Promise<void>): Promise<number> => {
    const before = statements;
    await write();
    return statements - before;
  };
  return { a: made('a'), b: made('b'), time, statementsOf };
}

async function workspaceId(): Promise<number> {
  const { rows } = await plane.pool.query<{ id: string }>("select id from workspace where slug = 'acme'");
  return Number(rows[0]?.id);
}

const entering = async (bootId: string, sidecarId = bootId) =>
  ({ workspaceId: await workspaceId(), keyId: sync.id, sidecarId, bootId, form: 'process', held: null, capabilities: ['deltas'] }) as const;

const shown = async (bootId: string): Promise<unknown> => {
  const { body } = await plane.ask('GET', '/acme/admin/sidecars?limit=1000');
  return (body as { readonly sidecars: readonly Listed[] }).sidecars.find((one) => one.bootId === bootId);
};

test('one that moves belongs to the control plane it moved to, whichever of them writes last', async () => {
  const { a, b } = rosters();
  const before = a.enters(await entering('mover'));
  before.holds({ epoch: 'e', number: 1 });
  await a.write();
  expect(await shown('mover')).toMatchObject({ controlPlane: 'a', connected: true });
  const after = b.enters(await entering('mover'));
  after.holds({ epoch: 'e', number: 2 });
  await b.write();
  before.left();
  await a.write();
  expect(await shown('mover')).toMatchObject({ controlPlane: 'b', connected: true, held: { number: 2 } });
  after.left();
  await b.write();
  expect(await shown('mover')).toMatchObject({ controlPlane: 'b', connected: false });
  await Promise.all([a.close(), b.close()]);
});

test('a second stream of the same start, to the same control plane, replaces the first', async () => {
  const { a, b } = rosters();
  const first = a.enters(await entering('twice'));
  await a.write();
  const second = a.enters(await entering('twice'));
  first.left();
  await a.write();
  expect(await shown('twice')).toMatchObject({ connected: true });
  second.left();
  await a.write();
  expect(await shown('twice')).toMatchObject({ connected: false });
  await Promise.all([a.close(), b.close()]);
});

test('one that reconnects before its broken stream was written is listed, and others are written with it', async () => {
  const { a, b } = rosters();
  const first = a.enters(await entering('flapping'));
  await a.write();
  first.left();
  const second = a.enters(await entering('flapping'));
  second.left();
  const third = a.enters(await entering('flapping'));
  const other = a.enters(await entering('second'));
  await a.write();
  expect(await shown('flapping')).toMatchObject({ connected: true });
  expect(await shown('second')).toMatchObject({ connected: true });
  third.left();
  other.left();
  await a.write();
  expect([await shown('flapping'), await shown('second')]).toMatchObject([{ connected: false }, { connected: false }]);
  await Promise.all([a.close(), b.close()]);
});

test('the list has consecutive pages, those that have left after those that are connected', async () => {
  const at = Date.now();
  const roster = createRoster({ ...plane.deps, wallTime: () => at, now: () => 0, log: { warn: () => undefined } }, 'a');
  const tied = { ...(await entering('tied-1', 'paged tied')), keyId: 'k_other' };
  const here = [tied, ...(await Promise.all(['tied-1', 'tied-2'].map((boot) => entering(boot, 'paged tied'))))];
  const entered = [...here, await entering('paged-gone', 'paged a'), await entering('paged-last', 'paged ü %')].map((one) =>
    roster.enters(one),
  );
  await roster.write();
  entered[3]?.left();
  await roster.write();
  const page = async (query: string): Promise<{ readonly sidecars: readonly Listed[]; readonly next?: string }> => {
    const { status, body } = await plane.ask('GET', `/acme/admin/sidecars?${query}`);
    expect(status).toBe(200);
    return body as { readonly sidecars: readonly Listed[]; readonly next?: string };
  };
  const all = (await page('limit=1000')).sidecars;
  expect(all.filter(({ id }) => id.startsWith('paged')).map(({ id, bootId }) => [id, bootId])).toEqual([
    ['paged tied', 'tied-1'],
    ['paged tied', 'tied-1'],
    ['paged tied', 'tied-2'],
    ['paged ü %', 'paged-last'],
    ['paged a', 'paged-gone'],
  ]);
  const walked: Listed[] = [];
  for (let cursor = ''; ; ) {
    const { sidecars, next } = await page(`limit=1${cursor}`);
    walked.push(...sidecars);
    if (next === undefined) break;
    cursor = `&cursor=${next}`;
  }
  // A sidecar of an earlier test may leave meanwhile, and then it has another place.
  const places = (of: readonly Listed[]) =>
    of.filter(({ id }) => id.startsWith('paged')).map(({ id, bootId, keyId, connected }) => [id, bootId, keyId, connected]);
  expect(places(walked)).toEqual(places(all));
  expect(await page(`limit=${all.length}`)).not.toHaveProperty('next');
  for (const one of entered) one.left();
  await roster.close();
});

test.each(['x', Buffer.from('1 5 b k ').toString('base64url'), Buffer.from('1 999999999999999 b k n').toString('base64url')])(
  'a cursor that no answer contained (%s) is refused',
  async (cursor) => {
    expect(await plane.ask('GET', `/acme/admin/sidecars?cursor=${cursor}`)).toMatchObject({ status: 400 });
  },
);

test('a batch is one statement, whatever its size; a silent sidecar is written as connected every 15 s, and forgotten when no one writes it', async () => {
  const { a, b, time, statementsOf } = rosters();
  const many = await Promise.all(Array.from({ length: 300 }, async (_, at) => a.enters(await entering(`many-${at}`))));
  for (const one of many) for (let n = 1; n <= 10; n += 1) one.holds({ epoch: 'e', number: n });
  await plane.roster.write();
  expect(await statementsOf(() => a.write())).toBe(1);
  expect(await statementsOf(() => a.write())).toBe(0);
  time.at += 14_999;
  expect(await statementsOf(() => a.write())).toBe(0);
  time.at += 1;
  expect(await statementsOf(() => a.write())).toBe(1);
  expect(await shown('many-7')).toMatchObject({ connected: true, held: { epoch: 'e', number: 10 }, lag: null });
  // Its control plane has died.
  await plane.pool.query("update sidecar set seen_at = now() - interval '46 seconds' where boot_id like 'many-%'");
  expect(await shown('many-7')).toMatchObject({ connected: false });
  await plane.pool.query("update sidecar set seen_at = now() - interval '8 days' where boot_id like 'many-1%'");
  await removeOldSidecars(plane.deps);
  expect([await shown('many-1'), await shown('many-2')]).toEqual([undefined, expect.anything()]);
  await Promise.all([a.close(), b.close()]);
});

test('rows that could not be written are part of the next batch; those of a removed workspace are not', async () => {
  const { a, b } = rosters();
  const stays = a.enters(await entering('patient'));
  a.enters({ ...(await entering('orphan')), workspaceId: 999_999 });
  await a.write();
  expect(await shown('patient')).toMatchObject({ connected: true });
  stays.holds({ epoch: 'e', number: 5 });
  const query = plane.pool.query.bind(plane.pool);
  Object.assign(plane.pool, { query: () => Promise.reject(new Error('away')) });
  await expect(a.write()).rejects.toThrow('away');
  stays.left();
  await expect(a.write()).rejects.toThrow('away');
  Object.assign(plane.pool, { query });
  await a.write();
  expect(await shown('patient')).toMatchObject({ connected: false, held: { number: 5 } });
  await Promise.all([a.close(), b.close()]);
});

test('a caller that waits for a write also sees the rows of an earlier write', async () => {
  const { a, b } = rosters();
  const known = a.enters(await entering('taken'));
  await a.write();
  known.left();
  const query = plane.pool.query.bind(plane.pool);
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  Object.assign(plane.pool, { query: (...args: Parameters<typeof query>) => held.then(() => query(...args)) });
  const ended: string[] = [];
  const first = a.write().then(() => ended.push('first'));
  const second = a.write().then(() => ended.push('second'));
  await new Promise((resolve) => void setImmediate(resolve));
  expect(ended).toEqual([]);
  Object.assign(plane.pool, { query });
  release();
  await Promise.all([first, second]);
  expect(ended).toEqual(['first', 'second']);
  expect(await shown('taken')).toMatchObject({ connected: false });
  await Promise.all([a.close(), b.close()]);
});

test('ten thousand false starts leave a thousand rows, and connected sidecars stay', async () => {
  const { a, b, statementsOf } = rosters();
  const honest = await entering('honest-boot', 'honest');
  a.enters(honest);
  const liar = await entering('x', '!liar');
  for (let round = 0; round < 10; round += 1) {
    const boots = Array.from({ length: 1_000 }, (_, at) => a.enters({ ...liar, bootId: `boot-${round}-${at}` }));
    await a.write();
    for (const boot of boots) boot.left();
    await a.write();
  }
  const { rows } = await plane.pool.query<{ count: string }>("select count(*) from sidecar where sidecar_id = '!liar'");
  expect(Number(rows[0]?.count)).toBeLessThanOrEqual(1_000);
  expect(await shown('honest-boot')).toMatchObject({ connected: true });
  // Those that connect and disconnect between two batches leave no row.
  for (let at = 0; at < 1_000; at += 1) b.enters({ ...liar, bootId: `brief-${at}` }).left();
  expect(await statementsOf(() => b.write())).toBe(0);
  await plane.pool.query("delete from sidecar where sidecar_id = '!liar'");
  await Promise.all([a.close(), b.close()]);
});

/** A false message after the greeting, and the error that its stream ends with. */
type Falsehood = (wire: Sync, snapshot: NonNullable<SyncResponse__Output['snapshot']>) => void;
const falseClaims: readonly (readonly [string, Falsehood, RegExp])[] = [
  [
    'an ack with a wrong hash',
    (wire, { revision }) => wire.write({ ack: { revision, hash: Buffer.alloc(32, 7) } }),
    /^INVALID_ARGUMENT: revision \d+ was acknowledged with another hash/,
  ],
  ['an ack without a hash', (wire, { revision }) => wire.write({ ack: { revision } }), /^INVALID_ARGUMENT: revision \d+ was acknowledged/],
  [
    'an ack of a revision never sent',
    (wire, { revision, hash }) => wire.write({ ack: { revision: { epoch: revision?.epoch ?? '', number: 10 ** 9 }, hash } }),
    /^INVALID_ARGUMENT: revision 1000000000 was answered, but \d+ was sent$/,
  ],
  ['an ack of no revision', (wire, { hash }) => wire.write({ ack: { hash } }), /^INVALID_ARGUMENT: revision undefined was answered/],
  [
    'an ack by another epoch',
    (wire, { revision, hash }) => wire.write({ ack: { revision: { epoch: 'a\0b', number: revision?.number ?? 0 }, hash } }),
    /^INVALID_ARGUMENT: revision \d+ was answered with another epoch/,
  ],
  [
    'an ack twice',
    (wire, { revision, hash }) => {
      wire.write({ ack: { revision, hash } });
      wire.write({ ack: { revision, hash } });
    },
    /^INVALID_ARGUMENT: revision \d+ was answered, but no snapshot was sent/,
  ],
  [
    'a nack where nothing was sent',
    (wire, { revision, hash }) => {
      wire.write({ ack: { revision, hash } });
      wire.write({ nack: { revision, code: 'internal', message: 'x' } });
    },
    /^INVALID_ARGUMENT: revision \d+ was answered, but no snapshot was sent/,
  ],
  [
    'a count beyond exact numbers',
    (wire) => wire.write(statusOf({ spoolBytes: 2 ** 60 })),
    /^INVALID_ARGUMENT: status.spoolBytes must be a count/,
  ],
  [
    'the largest count there is',
    (wire) => wire.write(statusOf({ unrecorded: '18446744073709551615' })),
    /^INVALID_ARGUMENT: status.unrecorded/,
  ],
  [
    'a clock that is no number of seconds',
    (wire) => wire.write(statusOf({ clock: { aheadSeconds: '9223372036854775807' } })),
    /^INVALID_ARGUMENT: status.clock.ahead_seconds must be a number of seconds/,
  ],
  ['no version', (wire) => wire.write(statusOf({ version: '' })), /^INVALID_ARGUMENT: status.version/],
  ['a version with a line break', (wire) => wire.write(statusOf({ version: '1\n2' })), /^INVALID_ARGUMENT: status.version/],
  ['a version of 2 MB', (wire) => wire.write(statusOf({ version: '1'.repeat(2_000_000) })), /^INVALID_ARGUMENT: status.version/],
  ['a version of 5 MB', (wire) => wire.write(statusOf({ version: '1'.repeat(5_000_000) })), /^RESOURCE_EXHAUSTED: /],
  [
    'a thousand statuses at once',
    (wire) => {
      for (let at = 0; at < 1_000; at += 1) wire.write(statusOf({ unrecorded: at }));
    },
    /^INVALID_ARGUMENT: status is sent more often than allowed/,
  ],
];

const falseHellos: readonly (readonly [string, SyncRequest, RegExp])[] = [
  ['an id with a line break', helloOf('a\nb', { bootId: 'b' }), /^INVALID_ARGUMENT: hello.sidecar_id must hold no control/],
  ['an id with a NUL', helloOf('a\0b', { bootId: 'b' }), /^INVALID_ARGUMENT: hello.sidecar_id must hold no control/],
  ['an id that turns the line around', helloOf('a\u202eb', { bootId: 'b' }), /^INVALID_ARGUMENT: hello.sidecar_id must hold no control/],
  ['no id', helloOf('', { bootId: 'b' }), /^INVALID_ARGUMENT: hello.sidecar_id must not be empty/],
  ['an id of 100 kB', helloOf('a'.repeat(100_000), { bootId: 'b' }), /^INVALID_ARGUMENT: hello.sidecar_id must be at most 200/],
  ['no boot id', helloOf('liar', { bootId: '' }), /^INVALID_ARGUMENT: hello.boot_id/],
  ['a boot id with a NUL', helloOf('liar', { bootId: 'a\0' }), /^INVALID_ARGUMENT: hello.boot_id/],
  ['a boot id of 100 kB', helloOf('liar', { bootId: 'a'.repeat(100_000) }), /^INVALID_ARGUMENT: hello.boot_id/],
  ['an epoch with a NUL', helloOf('liar', { held: { epoch: 'a\0', number: 1 } }), /^INVALID_ARGUMENT: hello.held.epoch/],
  ['a revision below none', helloOf('liar', { held: { epoch: 'e', number: -1 } }), /^INVALID_ARGUMENT: hello.held.number/],
  ['a revision beyond exact numbers', helloOf('liar', { held: { epoch: 'e', number: 2 ** 60 } }), /^INVALID_ARGUMENT: hello.held.number/],
];

test.each([...falseClaims, ...falseHellos])('%s ends the stream of its sidecar, and affects no other', async (_, falseClaim, ending) => {
  const honest = await acknowledged('honest');
  const wire = openSync(plane, sync.key);
  if (typeof falseClaim === 'function') {
    wire.write(helloOf('liar'));
    const { snapshot } = await wire.next();
    if (snapshot == null) throw new Error('the first message is no snapshot');
    falseClaim(wire, snapshot);
  } else wire.write(falseClaim);
  expect(await wire.ended).toMatch(ending);
  const { sidecars } = await list();
  expect(sidecars.find(({ id }) => id === 'honest')).toMatchObject({ connected: true });
  expect(sidecars.filter(({ id, connected }) => connected && id !== 'honest')).toEqual([]);
  // It receives the next revision as before.
  const revision = await plane.writePolicy({ outage: { maxStalenessSeconds: 3 + (await plane.revision()) } });
  const { delta, snapshot } = await honest.next();
  expect((delta?.to ?? snapshot?.revision)?.number).toBe(revision);
  honest.close();
  await expect.poll(async () => (await listed('honest'))?.connected).toBe(false);
});

test('a refusal that is long, or has an unknown code, is truncated and marked as unknown', async () => {
  const { wire, snapshot } = await greeted('long');
  wire.write({ nack: { revision: snapshot.revision, code: 'DROP TABLE', message: 'm'.repeat(100_000) } });
  await expect.poll(async () => (await listed('long'))?.lastNack ?? null).not.toBeNull();
  expect((await listed('long'))?.lastNack).toMatchObject({ code: 'other', message: 'm'.repeat(bounds.nackMessageLength) });
  wire.close();
});
