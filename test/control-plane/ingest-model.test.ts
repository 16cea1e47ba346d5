// Ingestion against a real PostgreSQL: two control planes at once, batches of several spools that arrive together,
// again, after a refused batch, and after connections were cut. `TOLLGATE_TEST_CASES` runs more cases.
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import type { Pool } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { canonicalOf } from '../../proto/chain/canonical.ts';
import { canonicalGap, digestOf, valueAfterEntry, valueAfterGap, valueBefore } from '../../proto/chain/link.ts';
import type { ShippedRecord } from '../../control-plane/audit/rules/audit-batch.ts';
import { createIngest } from '../../control-plane/audit/operations/ingest-batch.ts';
import { createPool } from '../../control-plane/database/pool.ts';
import { openLog, readItems } from '../../control-plane/audit/store/audit-chain.ts';
import { isUnavailable } from '../../control-plane/base/unavailable.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { batchOf, entry, lost, record } from './spool.ts';

const numRuns = Math.max(40, Math.floor(Number(process.env['TOLLGATE_TEST_CASES'] ?? 0) / 100));
const seed = process.env['TOLLGATE_TEST_SEED'];

let database: TestDatabase;
let planes: readonly { readonly pool: Pool; readonly ingest: ReturnType<typeof createIngest> }[];
let begun = 0;
beforeAll(async () => {
  database = await createTestDatabase();
  // Days that are created meanwhile have it, too.
  await database.pool.query(
    `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'broken'; end $$;
     create trigger broken before insert on audit_entry for each row when (new.sub = 'breaks') execute function refuse()`,
  );
  // A table that is no partition and has the name of one.
  await database.pool.query('create table audit_entry_20260301 ()');
  planes = [1, 2].map(() => {
    // Long timeouts for a busy machine: no query must be cancelled here.
    const patient = { query_timeout: 20_000, connectionTimeoutMillis: 20_000 };
    const pool = createPool({ ...database.connection, ...patient, max: 2, application_name: 'plane' }, { warn: () => undefined });
    pool.on('acquire', () => void (begun += 1));
    return { pool, ingest: createIngest({ pool, clock: () => new Date('2026-06-25T12:00:00.000Z') }) };
  });
});
afterAll(async () => {
  for (const { pool } of planes) await pool.end();
  await database.close();
});

/**
 * The reasons why a batch is not accepted, as the error texts name them. Some fail, as the database does; others are
 * refused.
 */
const refusals = {
  ahead: /^refused: hole$/,
  breaks: /^broken$/,
  walled: /^no partition of relation/,
  stolen: /^refused: wrong_secret$/,
  elsewhere: /^refused: other_workspace$/,
  changed: /^refused: conflict$/,
} as const;

const cameAgain = 'came again with other bytes, which were refused';

interface Delivery {
  readonly plane: 0 | 1;
  readonly spool: number;
  /** This many acknowledged records are sent again. */
  readonly again: number;
  readonly count: number;
  readonly kind: 'good' | keyof typeof refusals;
}

/** Its deliveries start at once. */
interface Round {
  readonly deliveries: readonly Delivery[];
  /** Connections are cut when this many deliveries have been answered. */
  readonly cutAfter: number | null;
}

const delivery: fc.Arbitrary<Delivery> = fc.record({
  plane: fc.constantFrom(0, 1),
  spool: fc.nat({ max: 4 }),
  again: fc.nat({ max: 3 }),
  count: fc.integer({ min: 1, max: 5 }),
  kind: fc.oneof(
    { weight: 12, arbitrary: fc.constant('good') },
    { weight: 2, arbitrary: fc.constantFrom('ahead', 'breaks', 'walled') },
    { weight: 3, arbitrary: fc.constantFrom('stolen', 'elsewhere', 'changed') },
  ),
});
const round: fc.Arbitrary<Round> = fc.record({
  deliveries: fc.array(delivery, { minLength: 1, maxLength: 16, size: 'max' }),
  cutAfter: fc.option(fc.nat({ max: 6 }), { freq: 5 }),
});

const spoolIdOf = (spool: number): string => `${'0123456789'[spool] ?? 'f'}${'a'.repeat(31)}`;
const requestOf = (spool: number, sequence: number): string => `${spool}:${sequence}`;
const isLost = (sequence: number): boolean => sequence % 4 === 0;

/** The same bytes at every delivery, unless the delivery is forged, or breaks. */
function recordOf({ spool, kind }: Delivery, sequence: number): ShippedRecord {
  const forged = { breaks: { sub: 'breaks' }, walled: { ts: '2026-03-01T10:00:00.000Z' }, changed: { sub: 'mallory' } }[kind as string];
  if (forged === undefined && isLost(sequence)) return lost(sequence, `lost ${sequence % 3}`);
  const late = sequence % 7 === 3 ? { ts: `2026-05-${10 + (sequence % 20)}T10:00:00.000Z` } : {};
  return record(sequence, entry({ requestId: requestOf(spool, sequence), sub: 'ann', ...late, ...forged }));
}

/** A forged batch of a spool comes after those of its owner. */
const kindAfter = ({ kind }: Delivery, acknowledged: number): Delivery['kind'] =>
  acknowledged === 0 && (kind === 'stolen' || kind === 'changed') ? 'good' : kind;

const isRefusal = (kind: Delivery['kind']): kind is keyof typeof refusals => kind in refusals;

async function makeWorkspace(): Promise<number> {
  const { rows } = await database.pool.query<{ id: string }>(
    `insert into workspace (slug, frozen, revision, created_at, raised_at) values ($1, false, 1, '2026-01-01', now()) returning id`,
    [`model-${randomBytes(6).toString('hex')}`],
  );
  return Number(rows[0]?.id);
}

const cutAll = (): Promise<unknown> =>
  database.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'plane'`,
  );

/** A pooled connection detects that it was cut at its next use, which may be in the next round. */
let wasCutBefore = false;

/** Delivers a round and checks each answer. Advances `acknowledged`. */
async function play({ deliveries, cutAfter }: Round, workspaceId: number, acknowledged: number[]): Promise<void> {
  const mayBeCut = cutAfter !== null || wasCutBefore;
  wasCutBefore = cutAfter !== null;
  let answered = 0;
  let cut: Promise<unknown> | null = cutAfter === 0 ? cutAll() : null;
  const before = [...acknowledged];
  const ends = await Promise.all(
    deliveries.map(async (drawn) => {
      const known = before[drawn.spool] ?? 0;
      const one = { ...drawn, kind: kindAfter(drawn, known) };
      const from = Math.max(1, known + (one.kind === 'changed' ? 0 : 1) - one.again);
      const to = one.kind === 'changed' ? known : Math.max(known + one.count, from);
      const records =
        one.kind === 'ahead' ? [recordOf(one, 2_000_000_000)] : Array.from({ length: to - from + 1 }, (_, at) => recordOf(one, from + at));
      const ingest = planes[one.plane]?.ingest ?? expect.fail('no plane');
      const batch = batchOf({
        workspaceId,
        spoolId: spoolIdOf(one.spool),
        records,
        ...(one.kind === 'stolen' ? { secretHash: 'f'.repeat(64) } : {}),
        ...(one.kind === 'elsewhere' ? { begunFor: 'f'.repeat(32) } : {}),
      });
      const end = await ingest(batch).then(
        (said) => ('refused' in said ? { reason: new Error(`refused: ${said.refused}`) } : { sequence: said.acknowledged }),
        (reason: unknown) => ({ reason }),
      );
      answered += 1;
      if (answered === cutAfter) cut ??= cutAll();
      return { ...one, from, to, end };
    }),
  );
  await cut;
  for (const { kind, spool, from, to, end } of ends) {
    if ('sequence' in end) {
      expect(end.sequence).toBeGreaterThanOrEqual(to);
      if (kind === 'changed') expect(Array.from({ length: to - from + 1 }, (_, at) => from + at).every(isLost)).toBe(true);
      else if (isRefusal(kind)) expect(ends.some((other) => other.spool === spool && !isRefusal(other.kind) && other.to >= to)).toBe(true);
      acknowledged[spool] = Math.max(acknowledged[spool] ?? 0, end.sequence);
      continue;
    }
    if (mayBeCut && isUnavailable(end.reason)) continue;
    const words = end.reason instanceof Error ? end.reason.message : String(end.reason);
    // A record that would break the database may exist already, with other bytes.
    const mayConflict = kind === 'breaks' || kind === 'walled';
    if (mayConflict && refusals.changed.test(words)) continue;
    expect(words).toMatch(isRefusal(kind) ? refusals[kind] : 'nothing that fails others');
  }
}

/**
 * The log is whole: its items make the chain, each spool's items are in sequence, and it has every acknowledged item.
 */
async function expectSound(workspaceId: number, acknowledged: readonly number[]): Promise<void> {
  const { origin, ingest, chain } = await openLog(database.pool, workspaceId);
  const items = await readItems(database.pool, workspaceId, { after: 0, upTo: ingest + 100 }, 10_000);
  expect(items.map((item) => item.ingest)).toEqual(Array.from({ length: ingest }, (_, at) => at + 1));
  const reached = new Map<string, number>();
  const conflicted = new Set<string>();
  let value = valueBefore(origin, 0);
  for (const item of items) {
    if (item.kind === 'retired') expect.fail('nothing is out of retention');
    const isGap = item.kind === 'gap';
    expect(item.digest).toBe(digestOf(item.ingest, isGap ? canonicalGap(item.gap) : (canonicalOf(item.entry) ?? '')));
    value = isGap ? valueAfterGap(value, item.gap.receivedAt, item.digest) : valueAfterEntry(value, item.ts, item.digest);
    if (isGap && item.gap.reason === cameAgain) {
      expect(conflicted.has(item.gap.spoolId)).toBe(false);
      conflicted.add(item.gap.spoolId);
      expect(item.gap.lastSequence).toBeLessThanOrEqual(reached.get(item.gap.spoolId) ?? 0);
      continue;
    }
    const [id = '', sequence] = isGap ? [item.gap.spoolId, item.gap.firstSequence] : String(item.entry['id']).split('-');
    expect(Number(sequence)).toBe((reached.get(id) ?? 0) + 1);
    reached.set(id, isGap ? item.gap.lastSequence : Number(sequence));
    if (!isGap) expect(item.entry['requestId']).toBe(requestOf(Number(id[0]), Number(sequence)));
  }
  expect(value).toBe(chain);
  // A delivery that was refused from the first has stored nothing.
  const { rows } = await database.pool.query<{ id: string; sequence: string }>(
    `select replace(spool_id::text, '-', '') as id, sequence from audit_stream where workspace_id = $1 and sequence > 0`,
    [workspaceId],
  );
  expect(new Map(rows.map(({ id, sequence }) => [id, Number(sequence)]))).toEqual(reached);
  for (const [spool, sequence] of acknowledged.entries()) expect(reached.get(spoolIdOf(spool)) ?? 0).toBeGreaterThanOrEqual(sequence);
}

test('batches that arrive together, again, refused or cut off each have their own answer, and the log is whole', async () => {
  let delivered = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(round, { minLength: 1, maxLength: 6 }), async (rounds) => {
      const workspaceId = await makeWorkspace();
      const acknowledged = [0, 0, 0, 0, 0];
      for (const one of rounds) {
        await play(one, workspaceId, acknowledged);
        await expectSound(workspaceId, acknowledged);
        delivered += one.deliveries.length;
      }
      // Gaps exist only for records that a sidecar reported as lost, or sent with other bytes: a refused or cut
      // delivery is sent again.
      const { rows } = await database.pool.query('select reason from audit_gap where workspace_id = $1 and reason !~ $2 and reason <> $3', [
        workspaceId,
        '^lost',
        cameAgain,
      ]);
      expect(rows).toEqual([]);
    }),
    { numRuns, ...(seed === undefined ? {} : { seed: Number(seed) }) },
  );
  expect(begun).toBeLessThan(delivered);
  // PostgreSQL would resolve a deadlock only a second later.
  const { rows } = await database.pool.query('select deadlocks from pg_stat_database where datname = current_database()');
  expect(rows).toEqual([{ deadlocks: '0' }]);
}, 120_000);
