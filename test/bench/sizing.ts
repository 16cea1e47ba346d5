// Measures the figures that docs/operate/scale.md, scale-database.md and scale-limits.md compute with, on a PostgreSQL
// of yours: bytes of an entry in table, indexes and WAL; entries per second of one workspace and of several; counters
// and revisions per second. `node --import tsx --conditions=tollgate-source test/bench/sizing.ts postgres://…/<an
// empty database>`: it migrates that database and fills it with some 450,000 entries. `entries`, `leases` or
// `revisions` as a second argument measures that alone.
import { randomBytes } from 'node:crypto';
import { loadavg } from 'node:os';
import type { QuotaAsk, SettledGrant } from '@tollgate/proto/contract';
import { Pool } from 'pg';
import { holderOf } from '../support/lease-names.ts';
import { batchOf } from '../control-plane/spool.ts';
import { createIngest } from '../../control-plane/audit/operations/ingest-batch.ts';
import { createLedger } from '../../control-plane/quota/operations/ledger.ts';
import { createRecalls } from '../../control-plane/quota/operations/recalls.ts';
import { migrate } from '../../control-plane/database/migrate.ts';
import { ensureDays } from '../../control-plane/audit/store/partitions.ts';
import { createPool } from '../../control-plane/database/pool.ts';
import { raiseRevision } from '../../control-plane/workspaces/store/revision.ts';
import { inTransaction } from '../../control-plane/database/transaction.ts';
import { shippedCalls } from './sizing/entries.ts';

const url = process.argv[2];
if (url === undefined) throw new Error('which database? postgres://…');
const connectionString = url;
await migrate({ connectionString });
const log = { warn: () => undefined };
// Not the pool of the product, which cancels a query after a second.
const pool = new Pool({ connectionString });
const day = new Date();

const say = (what: string, fields: object): void => console.log(JSON.stringify({ what, ...fields, load: loadavg()[0] }));
const round = (value: number): number => Math.round(value * 10) / 10;

async function numberOf(text: string, values: readonly unknown[] = []): Promise<number> {
  const { rows } = await pool.query<{ n: string }>(text, [...values]);
  return Number(rows[0]?.n);
}
const walAt = (): Promise<number> => numberOf("select pg_current_wal_insert_lsn() - '0/0' as n");

async function makeWorkspace(): Promise<number> {
  const slug = `size-${randomBytes(6).toString('hex')}`;
  return numberOf(
    'insert into workspace (slug, frozen, revision, created_at, raised_at) values ($1, false, 1, now(), now()) returning id as n',
    [slug],
  );
}

interface Load {
  readonly entries: number;
  readonly batch: number;
  readonly workspaces: number;
  /** Concurrent streams of each workspace. */
  readonly streams: number;
  /** Control planes: each with its own connections and turns. */
  readonly replicas?: number;
}

/** Entries per second, and the bytes that one of them adds to the WAL. */
async function takeIn({ entries, batch, workspaces, streams, replicas = 1 }: Load): Promise<void> {
  const ids = await Promise.all(Array.from({ length: workspaces }, makeWorkspace));
  const pools: readonly Pool[] = Array.from({ length: replicas }, () => createPool({ connectionString }, log));
  const ingests = pools.map((own) => createIngest({ pool: own, clock: () => new Date() }));
  const lanes = ids.flatMap((workspaceId) =>
    Array.from({ length: streams }, (_, at) => ({ workspaceId, ingest: ingests[at % replicas], spoolId: randomBytes(16).toString('hex') })),
  );
  const each = Math.floor(entries / lanes.length / batch) * batch;
  const ts = day.toISOString();
  const batches = lanes.map((lane) => ({
    lane,
    records: Array.from({ length: each / batch }, (_, at) => shippedCalls(at * batch, batch, ts)),
  }));
  const before = await walAt();
  const startedAt = performance.now();
  await Promise.all(
    batches.map(async ({ lane: { ingest, workspaceId, spoolId }, records: all }) => {
      for (const records of all) await ingest?.(batchOf({ workspaceId, spoolId, records }));
    }),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  const taken = each * lanes.length;
  say('ingest', {
    workspaces,
    streams,
    replicas,
    batch,
    entries: taken,
    perSecond: Math.round(taken / seconds),
    walBytesEach: round(((await walAt()) - before) / taken),
  });
  await Promise.all(pools.map((own) => own.end()));
}

/** Bytes of the day's partition: rows, indexes by name, and data stored outside the rows. */
async function sayBytes(): Promise<void> {
  const table = `audit_entry_${day.toISOString().slice(0, 10).replaceAll('-', '')}`;
  await pool.query(`analyze ${table}`);
  const rows = await numberOf(`select count(*) as n from ${table}`);
  const { rows: indexes } = await pool.query<{ name: string; bytes: string }>(
    `select pg_get_indexdef(indexrelid) as name, pg_relation_size(indexrelid) as bytes from pg_index where indrelid = $1::regclass`,
    [table],
  );
  const heap = await numberOf('select pg_relation_size($1::regclass) as n', [table]);
  const total = await numberOf('select pg_total_relation_size($1::regclass) as n', [table]);
  const each = (bytes: number): number => round(bytes / rows);
  const spooled = Buffer.concat(
    shippedCalls(0, 200, day.toISOString()).map(({ content }) => ('entry' in content ? Buffer.from(content.entry) : Buffer.alloc(0))),
  );
  say('bytes', {
    rows,
    shippedEach: round(spooled.length / 200),
    rowEach: each(heap),
    totalEach: each(total),
    indexes: Object.fromEntries(indexes.map(({ name, bytes }) => [/\((.*)\)/.exec(name)?.[1] ?? name, each(Number(bytes))])),
  });
}

const policy = {
  revision: { epoch: 'e', number: 1 },
  windowSeconds: 60,
  limitMax: () => 1_000_000,
  capOf: () => null,
  hasSubject: () => true,
  hasKey: () => true,
};

const askOf = (n: number): Omit<QuotaAsk, 'number' | 'settled'> => ({
  counter: { kind: 'limit', originSub: `user-${n}`, id: 'a' },
  waiting: 1,
  onlySettles: false,
  max: null,
  made: null,
  revision: policy.revision,
});

interface Leasing {
  readonly counters: number;
  readonly holders: number;
  readonly replicas?: number;
}

/** Sends as many requests as the ledger answers; each holder asks for all counters at once, as a sidecar does. */
async function lease({ counters, holders, replicas = 1 }: Leasing): Promise<void> {
  const workspaceId = await makeWorkspace();
  const pools: readonly Pool[] = Array.from({ length: replicas }, () => createPool({ connectionString }, log));
  let transactions = 0;
  const ledgers = pools.map((own) =>
    createLedger({
      pool: own,
      watchPolicy: () => ({ current: policy, first: Promise.resolve(policy), close: () => undefined }),
      recalls: createRecalls({ pool: own, now: () => performance.now(), log }),
      metrics: {
        answered: () => undefined,
        falseClaim: () => undefined,
        demanded: () => undefined,
        committed: () => void (transactions += 1),
      },
      crowded: { has: () => false },
      now: () => performance.now(),
    }),
  );
  const until = performance.now() + 4_000;
  let updates = 0;
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: holders }, async (_, at) => {
      const link = ledgers[at % replicas]?.open({ workspaceId, keyId: 'key', onlySub: null, holder: holderOf(`${at}`) }, () => undefined);
      const settled = new Map<number, readonly SettledGrant[]>();
      for (let number = 1; performance.now() < until; number += 1) {
        const asks = Array.from({ length: counters }, (__, n): QuotaAsk => ({ ...askOf(n), number, settled: settled.get(n) ?? [] }));
        // A request that was cancelled, for example under other load, counts as zero.
        const answers = (await link?.ask(asks).catch(() => [])) ?? [];
        updates += answers.length;
        // One call was made of each grant.
        for (const [n, { result }] of answers.entries())
          settled.set(n, result.kind === 'grant' ? [{ grantId: result.id, used: [{ ageMs: 0, count: 1 }] }] : []);
      }
      link?.close();
    }),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  say('leases', {
    counters,
    holders,
    replicas,
    asksPerSecond: Math.round(updates / seconds),
    transactionsPerSecond: Math.round(transactions / seconds),
  });
  await Promise.all(pools.map((own) => own.end()));
}

/** Sequential writes of one workspace: the rate that its row lock allows. */
async function raise(): Promise<void> {
  const workspaceId = await makeWorkspace();
  const until = performance.now() + 3_000;
  let raised = 0;
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      while (performance.now() < until) {
        await inTransaction(pool, (client) => raiseRevision(client, workspaceId));
        raised += 1;
      }
    }),
  );
  say('revisions of one workspace', { perSecond: Math.round(raised / 3) });
}

const parts: Readonly<Record<string, () => Promise<void>>> = {
  entries: async () => {
    await takeIn({ entries: 20_000, batch: 500, workspaces: 1, streams: 4 });
    await takeIn({ entries: 100_000, batch: 500, workspaces: 1, streams: 4 });
    await takeIn({ entries: 100_000, batch: 500, workspaces: 4, streams: 4 });
    await sayBytes();
    await takeIn({ entries: 100_000, batch: 500, workspaces: 4, streams: 4, replicas: 2 });
    await takeIn({ entries: 50_000, batch: 500, workspaces: 1, streams: 4, replicas: 2 });
    await takeIn({ entries: 40_000, batch: 64, workspaces: 1, streams: 16 });
    await takeIn({ entries: 40_000, batch: 64, workspaces: 4, streams: 16 });
    await takeIn({ entries: 4_000, batch: 2, workspaces: 1, streams: 16 });
    await takeIn({ entries: 4_000, batch: 2, workspaces: 4, streams: 16 });
    await takeIn({ entries: 12_000, batch: 2, workspaces: 1, streams: 500 });
    await takeIn({ entries: 4_000, batch: 2, workspaces: 1, streams: 16, replicas: 2 });
  },
  leases: async () => {
    await lease({ counters: 1, holders: 1 });
    await lease({ counters: 1, holders: 8 });
    await lease({ counters: 1, holders: 8, replicas: 2 });
    await lease({ counters: 100, holders: 8 });
  },
  revisions: raise,
};
await inTransaction(pool, (client) => ensureDays(client, [day.toISOString().slice(0, 10).replaceAll('-', '')]), 'patient');
// All of them, or those that are named after the database.
for (const [name, measure] of Object.entries(parts)) if (process.argv.length === 3 || process.argv.includes(name, 3)) await measure();
await pool.end();
