// Ingest against a real PostgreSQL: two control planes at once, batches of several spools that come together, again, after
// a batch that is refused, and after connections were cut. `TOLLGATE_TEST_CASES` for more of it.
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import type { Pool } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { canonicalOf } from '../../control-plane/chain/canonical.ts';
import { canonicalGap, digestOf, valueAfterEntry, valueAfterGap, valueBefore } from '../../control-plane/chain/link.ts';
import type { ShippedRecord } from '../../control-plane/domain/audit/audit-batch.ts';
import { createIngest } from '../../control-plane/operations/audit/ingest-batch.ts';
import { createPool } from '../../control-plane/store/pool.ts';
import { openLog, readItems } from '../../control-plane/store/audit-chain.ts';
import { isUnavailable } from '../../control-plane/store/unavailable.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { entry, record } from './spool.ts';

const numRuns = Math.max(40, Math.floor(Number(process.env['TOLLGATE_TEST_CASES'] ?? 0) / 100));
const seed = process.env['TOLLGATE_TEST_SEED'];

let database: TestDatabase;
let planes: readonly { readonly pool: Pool; readonly ingest: ReturnType<typeof createIngest> }[];
let begun = 0;
beforeAll(async () => {
  database = await createTestDatabase();
  // Days that are made meanwhile have it, too.
  await database.pool.query(
    `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'broken'; end $$;
     create trigger broken before insert on audit_entry for each row when (new.sub = 'breaks') execute function refuse()`,
  );
  // No partition, and in the way of one.
  await database.pool.query('create table audit_entry_20260301 ()');
  planes = [1, 2].map(() => {
    // Patient where the machine is busy: nothing here is to be given up.
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

/** Why a batch is refused, in the words of which it is told. */
const refusals = {
  ahead: /^sequence 2000000000 is more than/,
  breaks: /^broken$/,
  walled: /^no partition of relation/,
} as const;

interface Delivery {
  readonly plane: 0 | 1;
  readonly spool: number;
  /** Of what was acknowledged, this much comes again. */
  readonly again: number;
  readonly count: number;
  readonly kind: 'good' | 'lost' | 'late' | keyof typeof refusals;
}

/** All at once. */
interface Round {
  readonly deliveries: readonly Delivery[];
  /** Connections are cut when so many have been answered. */
  readonly cutAfter: number | null;
}

const delivery: fc.Arbitrary<Delivery> = fc.record({
  plane: fc.constantFrom(0, 1),
  spool: fc.nat({ max: 4 }),
  again: fc.nat({ max: 3 }),
  count: fc.integer({ min: 1, max: 5 }),
  kind: fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom('good', 'lost', 'late') },
    { weight: 2, arbitrary: fc.constantFrom('ahead', 'breaks', 'walled') },
  ),
});
const round: fc.Arbitrary<Round> = fc.record({
  deliveries: fc.array(delivery, { minLength: 1, maxLength: 16, size: 'max' }),
  cutAfter: fc.option(fc.nat({ max: 6 }), { freq: 5 }),
});

const spoolIdOf = (spool: number): string => `${'0123456789'[spool] ?? 'f'}${'a'.repeat(31)}`;
const requestOf = (spool: number, sequence: number): string => `${spool}:${sequence}`;

function recordOf({ spool, kind }: Delivery, sequence: number): ShippedRecord {
  if (kind === 'lost' && sequence % 2 === 0) return { sequence, content: { lost: `lost ${sequence % 3}` } };
  const ts = kind === 'walled' ? '2026-03-01T10:00:00.000Z' : kind === 'late' ? `2026-05-${10 + (sequence % 20)}T10:00:00.000Z` : undefined;
  const fields = { requestId: requestOf(spool, sequence), sub: kind === 'breaks' ? 'breaks' : 'ann', ...(ts === undefined ? {} : { ts }) };
  return record(sequence, entry(fields));
}

const isRefusal = (kind: Delivery['kind']): kind is keyof typeof refusals => kind in refusals;

async function makeWorkspace(): Promise<number> {
  const { rows } = await database.pool.query<{ id: string }>(
    `insert into workspace (slug, frozen, revision, created_at, raised_at) values ($1, false, 1, now(), now()) returning id`,
    [`model-${randomBytes(6).toString('hex')}`],
  );
  return Number(rows[0]?.id);
}

const cutAll = (): Promise<unknown> =>
  database.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'plane'`,
  );

/** A connection of a pool hears that it was cut when it is used next, which may be in the round after. */
let wasCutBefore = false;

/** Delivers a round; holds each answer against what it may be. Moves `acknowledged` on. */
async function play({ deliveries, cutAfter }: Round, workspaceId: number, acknowledged: number[]): Promise<void> {
  const mayBeCut = cutAfter !== null || wasCutBefore;
  wasCutBefore = cutAfter !== null;
  let answered = 0;
  let cut: Promise<unknown> | null = cutAfter === 0 ? cutAll() : null;
  const before = [...acknowledged];
  const ends = await Promise.all(
    deliveries.map(async (one) => {
      const from = Math.max(1, (before[one.spool] ?? 0) + 1 - one.again);
      const to = from + one.again + one.count - 1;
      const records =
        one.kind === 'ahead' ? [recordOf(one, 2_000_000_000)] : Array.from({ length: to - from + 1 }, (_, at) => recordOf(one, from + at));
      const ingest = planes[one.plane]?.ingest ?? expect.fail('no plane');
      const end = await ingest({ workspaceId, spoolId: spoolIdOf(one.spool), records }).then(
        (sequence) => ({ sequence }),
        (reason: unknown) => ({ reason }),
      );
      answered += 1;
      if (answered === cutAfter) cut ??= cutAll();
      return { ...one, from, to, end };
    }),
  );
  await cut;
  for (const { kind, spool, to, end } of ends) {
    if ('sequence' in end) {
      expect(end.sequence).toBeGreaterThanOrEqual(to);
      if (isRefusal(kind)) expect(ends.some((other) => other.spool === spool && !isRefusal(other.kind) && other.to >= to)).toBe(true);
      acknowledged[spool] = Math.max(acknowledged[spool] ?? 0, end.sequence);
      continue;
    }
    if (mayBeCut && isUnavailable(end.reason)) continue;
    const words = end.reason instanceof Error ? end.reason.message : String(end.reason);
    expect(words).toMatch(isRefusal(kind) ? refusals[kind] : 'nothing that fails others');
  }
}

/** The log is whole: its items, of which each spool's follow each other, make the chain; and it has what was acknowledged. */
async function expectSound(workspaceId: number, acknowledged: readonly number[]): Promise<void> {
  const { origin, ingest, chain } = await openLog(database.pool, workspaceId);
  const items = await readItems(database.pool, workspaceId, { after: 0, upTo: ingest + 100 }, 10_000);
  expect(items.map((item) => item.ingest)).toEqual(Array.from({ length: ingest }, (_, at) => at + 1));
  const reached = new Map<string, number>();
  let value = valueBefore(origin, 0);
  for (const item of items) {
    if (item.kind === 'retired') expect.fail('nothing is out of retention');
    const isGap = item.kind === 'gap';
    expect(item.digest).toBe(digestOf(item.ingest, isGap ? canonicalGap(item.gap) : (canonicalOf(item.entry) ?? '')));
    value = isGap ? valueAfterGap(value, item.gap.receivedAt, item.digest) : valueAfterEntry(value, item.ts, item.digest);
    const [id = '', sequence] = isGap ? [item.gap.spoolId, item.gap.firstSequence] : String(item.entry['id']).split('-');
    expect(Number(sequence)).toBe((reached.get(id) ?? 0) + 1);
    reached.set(id, isGap ? item.gap.lastSequence : Number(sequence));
    if (!isGap) expect(item.entry['requestId']).toBe(requestOf(Number(id[0]), Number(sequence)));
  }
  expect(value).toBe(chain);
  const { rows } = await database.pool.query<{ id: string; sequence: string }>(
    `select replace(spool_id::text, '-', '') as id, sequence from audit_stream where workspace_id = $1`,
    [workspaceId],
  );
  expect(new Map(rows.map(({ id, sequence }) => [id, Number(sequence)]))).toEqual(reached);
  for (const [spool, sequence] of acknowledged.entries()) expect(reached.get(spoolIdOf(spool)) ?? 0).toBeGreaterThanOrEqual(sequence);
}

test('whatever comes together, again, refused or cut off: each batch has its own answer, and the log is whole', async () => {
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
      // Only what a sidecar said it lost: whoever is refused comes again, and so does who was cut off.
      const { rows } = await database.pool.query('select reason from audit_gap where workspace_id = $1 and reason !~ $2', [
        workspaceId,
        '^lost',
      ]);
      expect(rows).toEqual([]);
    }),
    { numRuns, ...(seed === undefined ? {} : { seed: Number(seed) }) },
  );
  expect(begun).toBeLessThan(delivered);
  // They would be made good, a second later.
  const { rows } = await database.pool.query('select deadlocks from pg_stat_database where datname = current_database()');
  expect(rows).toEqual([{ deadlocks: '0' }]);
}, 120_000);
