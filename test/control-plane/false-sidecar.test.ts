// A sidecar that sends false data loses its own stream and affects no other: an honest one continues at the same time.

import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { bounds } from '@tollgate/proto/contract';
import type { AuditBatch } from '../../control-plane/audit/rules/audit-batch.ts';
import { createIntake } from '../../control-plane/grpc/intake.ts';
import { WireReader } from '../../control-plane/grpc/wire-reader.ts';
import { createIngest } from '../../control-plane/audit/operations/ingest-batch.ts';
import { verify, noteFrom } from '../chain/log.ts';
import { openShip, type Plane, startPlane } from '../support/plane.ts';
import { field } from './rest.ts';
import { batchOf, entry, records, shipped, spool, workspaceIdOf } from './spool.ts';

let plane: Plane;
let ingest: Plane['ingest'];
let key: string;
let honest: Awaited<ReturnType<typeof shipping>>;
let sequence = 0;

beforeAll(async () => {
  plane = await startPlane();
  ingest = plane.ingest;
  ({ key } = await plane.issueKey(['sidecar.sync']));
});
afterAll(() => plane.close());
beforeEach(async () => {
  plane.ingest = ingest;
  honest = await shipping();
});

async function shipping() {
  const wire = openShip(plane, key);
  wire.write({ hello: { sidecarId: 'by-hand' } });
  expect(await wire.next()).toMatchObject({ credit: { records: expect.any(Number) } });
  return wire;
}

const recordsOf = (from: number, count: number, fields: object = {}) =>
  Array.from({ length: count }, (_, at) => ({
    sequence: from + at,
    entry: Buffer.from(JSON.stringify(entry({ requestId: `r${from + at}`, ts: new Date().toISOString(), ...fields }))),
  }));

/** Its next batch is ingested, and the whole log is sound. */
async function honestContinues(): Promise<void> {
  honest.write({ batch: { ...shipped(spool('a')), records: recordsOf(sequence + 1, 5) } });
  sequence += 5;
  expect(await honest.next()).toMatchObject({ acknowledged: { sequence } });
  const note = noteFrom(field(await plane.ask('POST', '/acme/admin/audit/checkpoint'), 'checkpoint'));
  const { body } = await plane.ask('GET', '/acme/admin/audit/chain');
  expect(verify(Buffer.from(String(body)), { kept: [{ name: 'kept', note }] })).toMatchObject({ kind: 'sound' });
}

const lost = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ sequence: at + 1, lost: { last: at + 1, reason: 'x'.repeat(1_000) } }));

const falseClaims = [
  ['a message of 5 MB', [{ spoolId: spool('b'), records: recordsOf(1, 1, { input: 'x'.repeat(5_000_000) }) }], /^RESOURCE_EXHAUSTED: /],
  [
    'a thousand and one spools',
    Array.from({ length: 1_001 }, (_, n) => ({ spoolId: `${'e'.repeat(28)}${n.toString(16).padStart(4, '0')}`, records: lost(1) })),
    /^INVALID_ARGUMENT: more than 1000 spools/,
  ],
] as const;

test.each(falseClaims)('%s ends the stream, and the honest one continues', async (_, batches, words) => {
  // The other batches are acknowledged without being ingested, so that many do not take long.
  if (batches.length > 1) plane.ingest = async (batch) => (batch.spoolId === spool('a') ? ingest(batch) : { acknowledged: 1 });
  const wire = await shipping();
  for (const { spoolId, records: batch } of batches) wire.write({ batch: { ...shipped(spoolId), records: [...batch] } });
  expect(await wire.ended).toMatch(words);
  expect((await plane.pool.query('select 1 from audit_entry where spool_id = $1', [spool('b')])).rowCount).toBe(0);
  await honestContinues();
});

test.each([
  ['a sequence far ahead of all there can be', recordsOf(2_000_000_000, 1), 'hole'],
  ['one after which none can follow', recordsOf(Number.MAX_SAFE_INTEGER, 1), 'hole'],
  ['more bytes than a batch holds', recordsOf(1, 900, { input: 'x'.repeat(1_400) }), 'malformed'],
])('%s is refused, nothing of it is stored, and both streams continue', async (_, batch, code) => {
  const wire = await shipping();
  wire.write({ batch: { ...shipped(spool('b')), records: batch } });
  expect(await wire.next()).toMatchObject({ refused: { spoolId: spool('b'), code } });
  expect((await plane.pool.query('select 1 from audit_entry where spool_id = $1', [spool('b')])).rowCount).toBe(0);
  await honestContinues();
});

test('names of other tenants, their agents and spools in entries and batches do not affect them', async () => {
  const before = (await plane.ask('GET', '/other/admin/audit', { key: plane.other })).body;
  const wire = await shipping();
  wire.write({
    batch: { ...shipped(spool('c')), records: recordsOf(1, 3, { agentName: 'their-agent', workspace: 'other', workspaceId: 2, id: 'x' }) },
  });
  expect(await wire.next()).toMatchObject({ acknowledged: { sequence: 3 } });
  expect((await plane.ask('GET', '/other/admin/audit', { key: plane.other })).body).toMatchObject({ count: 0 });
  expect(Object(before).count).toBe(0);
  await honestContinues();
});

test('a thousand losses at once, each with its text, are as many gaps, truncated, in one statement', async () => {
  const wire = await shipping();
  wire.write({
    batch: {
      ...shipped(spool('d')),
      records: lost(1_000).map((one, n) => ({ ...one, lost: { ...one.lost, reason: `${n}${one.lost.reason}` } })),
    },
  });
  expect(await wire.next()).toMatchObject({ acknowledged: { sequence: 1_000 } });
  wire.write({ batch: { ...shipped(spool('f')), records: lost(1_000) } });
  expect(await wire.next()).toMatchObject({ acknowledged: { sequence: 1_000 } });
  const { rows } = await plane.pool.query(
    'select left(spool_id::text, 1) as letter, count(*)::int, max(length(reason)) as longest from audit_gap where spool_id = any($1) group by 1 order by 1',
    [[spool('d'), spool('f')]],
  );
  expect(rows).toEqual([
    { letter: 'd', count: 1_000, longest: 500 },
    { letter: 'f', count: 1, longest: 500 },
  ]);
  await honestContinues();
});

test('a record that is larger than any entry is sanitised and ingested, alone in its batch', async () => {
  const wire = await shipping();
  wire.write({ batch: { ...shipped(spool('9')), records: recordsOf(1, 1, { input: 'x'.repeat(1_500_000) }) } });
  expect(await wire.next()).toMatchObject({ acknowledged: { sequence: 1 } });
  const { rows } = await plane.pool.query(`select entry->'mended' as mended from audit_entry where spool_id = $1`, [spool('9')]);
  expect(rows).toEqual([{ mended: ['oversize'] }]);
  await honestContinues();
});

test('a slow database receives only a few batches of a stream ahead: the rest is not read', async () => {
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  plane.ingest = async (batch) => {
    if (batch.spoolId === spool('8')) await held;
    return ingest(batch);
  };
  const wire = await shipping();
  // Within its credit by records, and far beyond the bound of bytes.
  for (let n = 0; n < 40; n += 1)
    wire.write({ batch: { ...shipped(spool('8')), records: recordsOf(n * 20 + 1, 20, { input: 'x'.repeat(40_000) }) } });
  await honestContinues();
  release();
  for (let n = 1; n <= 40; n += 1) expect(await wire.next()).toMatchObject({ acknowledged: { sequence: n * 20 } });
  await honestContinues();
});

test('a stream that is paused has one or two messages read ahead, not as many as fit into a stream', async () => {
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  plane.ingest = async (batch) => {
    if (batch.spoolId === spool('6')) await held;
    return ingest(batch);
  };
  const wire = await shipping();
  // Without a spy, which keeps every call: only of a message is the first field that is read number 2, the batch.
  const next = Object.getOwnPropertyDescriptor(WireReader.prototype, 'next')?.value as () => boolean;
  onTestFinished(() => void (WireReader.prototype.next = next));
  let messagesRead = 0;
  WireReader.prototype.next = function (this: WireReader): boolean {
    const isFirst = this.field === 0;
    const isThere = next.call(this);
    if (isFirst && this.field === 2) messagesRead += 1;
    return isThere;
  };
  for (let n = 1; n <= 200; n += 1) wire.write({ batch: { ...shipped(spool('6')), records: recordsOf(n, 1) } });
  // One is in ingestion, and sixty-four wait.
  await expect.poll(() => messagesRead, { timeout: 10_000 }).toBeGreaterThanOrEqual(65);
  for (let n = 0; n < 5; n += 1) await honestContinues();
  expect(messagesRead - 5).toBeLessThanOrEqual(67);
  release();
  for (let n = 1; n <= 200; n += 1) expect(await wire.next()).toMatchObject({ acknowledged: { sequence: n } });
  await honestContinues();
});

test('a workspace with many batches lets those of other workspaces through', async () => {
  const take = createIngest(plane.deps);
  const [busy, quiet] = [await workspaceIdOf(plane), await workspaceIdOf(plane, 'other')];
  const done: string[] = [];
  const batch = (workspaceId: number, spoolId: string): AuditBatch =>
    batchOf({ workspaceId, spoolId, records: records(1, 200, () => entry({ ts: new Date().toISOString() })) });
  const all = Array.from({ length: 16 }, (_, n) => take(batch(busy, n.toString(16).padStart(32, '7'))).then(() => done.push('busy')));
  all.push(take(batch(quiet, spool('7'))).then(() => done.push('quiet')));
  await Promise.all(all);
  // It is ingested in parallel with the first; the database decides how many groups of the other finish meanwhile. In
  // one queue it would be the last.
  expect(done.indexOf('quiet')).toBeLessThan(12);
});

test('streams share the capacity of a process: each has its part, never less than it needs', () => {
  const intake = createIntake({ records: 1_000, streamRecordsMin: 64, ofWorkspace: 30, ofKey: 30, bytes: 1_000_000 });
  const openOf = (workspaceId: number) => intake.open({ workspaceId, keyId: `key of ${workspaceId}` });
  expect(intake.credit).toBe(1_000);
  const open = Array.from({ length: 10 }, () => openOf(1));
  expect(intake.credit).toBe(100);
  open.push(...Array.from({ length: 20 }, () => openOf(1)));
  expect(intake.credit).toBe(64);
  expect(openOf(1)).toEqual({ taken: 'key' });
  expect(openOf(2)).not.toHaveProperty('taken');
  for (const seat of open) {
    if ('taken' in seat) throw new Error('a place was taken');
    seat.leave();
    seat.leave();
  }
  expect(intake.credit).toBe(1_000);
  expect(createIntake().credit).toBe(bounds.auditCreditRecords);
});
