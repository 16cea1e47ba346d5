// P10: reads the newest 200 entries of a long log, and counts of it, compared with a short one, through the operations
// that answer `GET …/audit`, `…/stats/*` and `…/unknownAgents`, on a real PostgreSQL. P9: ingests batches, compared with COPY and INSERT of the same rows.
// TOLLGATE_BENCH_ENTRIES makes the long log shorter than its ten million entries.
import { policyNeeds } from '@tollgate/proto/contract';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PoolClient } from 'pg';
import { createCatalogue } from '../../control-plane/agents/rules/catalogue.ts';
import type { ShippedRecord } from '../../control-plane/audit/rules/audit-batch.ts';
import { entryFromRecord, openRecord } from '../../control-plane/audit/rules/audit-entry.ts';
import { authenticate } from '../../control-plane/access/operations/authenticate.ts';
import { createKeyLookups } from '../../control-plane/access/operations/key-lookups.ts';
import { createNotary, newNotaryKey } from '../../control-plane/audit/operations/notary.ts';
import { exportAudit } from '../../control-plane/audit/operations/export-audit.ts';
import { createIngest } from '../../control-plane/audit/operations/ingest-batch.ts';
import { queryAudit } from '../../control-plane/audit/operations/query-audit.ts';
import type { OperationDeps } from '../../control-plane/access/operation.ts';
import { catchUpCounts } from '../../control-plane/statistics/operations/catch-up.ts';
import { readDecisions, readRedactions } from '../../control-plane/statistics/operations/read-decisions.ts';
import { readUnknownAgents } from '../../control-plane/statistics/operations/read-unknown-agents.ts';
import { createDiscover } from '../../control-plane/tool-servers/operations/discover.ts';
import { createWorkspace } from '../../control-plane/workspaces/operations/create-workspace.ts';
import { createReach } from '../../control-plane/runs/mcp/reach.ts';
import { copyEntries, type NumberedEntry } from '../../control-plane/audit/store/audit-copy.ts';
import { type EmbeddedPostgres, startEmbedded } from '../../control-plane/database/embedded/start.ts';
import { migrate } from '../../control-plane/database/migrate.ts';
import { daysBetween, ensureDays } from '../../control-plane/audit/store/partitions.ts';
import { createPool } from '../../control-plane/database/pool.ts';
import { inTransaction } from '../../control-plane/database/transaction.ts';
import { createRevisionChanges } from '../../control-plane/publish/revision-changes.ts';
import { watchHeads } from '../../control-plane/audit/store/watch-heads.ts';
import { acknowledgedOf, batchOf, entry, records } from '../control-plane/spool.ts';
import { noApprovals } from '../support/no-approvals.ts';
import { withClient } from '../support/database.ts';
import { judge, orient, percentile, type Result } from './measure.ts';

const long = Number(process.env['TOLLGATE_BENCH_ENTRIES'] ?? 10_000_000);
const short = 10_000;
const days = 30;
const end = new Date('2026-06-25T00:00:00.000Z');
const begin = new Date(end.getTime() - days * 24 * 3_600_000);
const rounds = 41;

export async function benchAudit(): Promise<readonly Result[]> {
  const dataDir = await mkdtemp(join(tmpdir(), 'tollgate-bench-'));
  const server = await startEmbedded({ dataDir, log: () => {} });
  try {
    const small = await openLog(server, 'short_log', short);
    const large = await openLog(server, 'long_log', long);
    try {
      const newest = [];
      for (const tool of ['common', 'rare', 'absent', null]) newest.push(await compareNewest(large, small, tool));
      const counted = [];
      for (const [name, ask] of countRequests) counted.push(await compareCounts(large, small, name, ask));
      return [...newest, ...counted, await compareExport(large, small), ...(await compareIngest(small))];
    } finally {
      await small.deps.pool.end();
      await large.deps.pool.end();
    }
  } finally {
    await server.close();
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function openLog(server: EmbeddedPostgres, database: string, entries: number) {
  await withClient(server.connection, (client) => client.query(`create database ${database}`));
  const connection = { ...server.connection, database };
  await migrate(connection);
  const pool = createPool(connection, console, 8);
  const reach = createReach({ allowPrivate: false, commands: [] }, {});
  const deps: OperationDeps = {
    pool,
    readingPool: pool,
    heads: watchHeads(pool),
    revisions: createRevisionChanges(),
    clock: () => end,
    keyLookups: createKeyLookups({ pool, clock: () => end }),
    random: randomBytes,
    defaults: { defaultPermission: 'allow', windowSeconds: 60 },
    needs: policyNeeds,
    reach,
    catalogue: createCatalogue([]),
    discover: createDiscover(reach),
    sealer: null,
    authorities: () => Promise.reject(new Error('there are no authorities here')),
    notary: createNotary(newNotaryKey(), 90),
    dailyCap: 0,
    approvals: noApprovals,
  };
  const { key } = await createWorkspace(deps, { slug: 'bench', owner: { uid: 'ann', email: 'ann@bench.test' } });
  const actor = await authenticate(deps, `Bearer ${key}`);
  await inTransaction(deps.pool, (client) => ensureDays(client, daysBetween(begin, end)), 'patient');
  await withClient(connection, (client) => fill(client, actor.workspaceId, entries));
  await catchUpCounts(deps);
  await withClient(connection, (client) => client.query('vacuum analyze decision_count, finding_count'));
  return { deps, actor };
}

type Log = Awaited<ReturnType<typeof openLog>>;

/**
 * Entries are spread evenly over the days, one statement for each day; a hundred entries have the rare tool, whatever
 * the length.
 */
async function fill(
  client: { query: (text: string, values?: unknown[]) => Promise<unknown> },
  workspaceId: number,
  entries: number,
): Promise<void> {
  const { ts: _ts, tool: _tool, decision: _decision, agentName: _agent, sub: _sub, sessionId: _session, ...others } = entry();
  const redacted = { ...others, transform: 'redact', findings: [{ kind: 'email', count: 2 }] };
  await client.query('set synchronous_commit = off');
  const step = Math.ceil(entries / days);
  for (let from = 1; from <= entries; from += step) {
    await client.query(
      `insert into audit_entry
       select $1, $2::timestamptz + (n * interval '${days} days') / ($5 + 1), '${'a'.repeat(32)}', n, n, $3,
         case when n % ($5 / 100) = 0 then 'rare' else 'common' end, case when n % 10 = 0 then 'deny' else 'allow' end, 'agent ' || n % 20,
         'user-' || n % 500, 'session-' || n / 20, case when n % 7 = 0 then $8::jsonb else $4 end
       from generate_series($6::bigint, $7::bigint) n`,
      [workspaceId, begin, end, JSON.stringify(others), entries, from, Math.min(entries, from + step - 1), JSON.stringify(redacted)],
    );
  }
  await client.query('insert into audit_head values ($1, $2)', [workspaceId, entries]);
  await client.query('vacuum analyze audit_entry');
  await client.query('checkpoint');
}

async function compareNewest(large: Log, small: Log, tool: string | null): Promise<Result> {
  const parameters = { since: '2026-01-01T00:00:00Z', ...(tool === null ? {} : { tool }) };
  const ask = async ({ deps, actor }: Log): Promise<number> => (await queryAudit(deps, actor, parameters)).count;
  if ((await ask(large)) !== (await ask(small))) throw new Error('the two logs gave different numbers of entries');
  const { ms, baselineMs, ratio } = await comparePairs(
    () => ask(large),
    () => ask(small),
    rounds,
  );
  const name = `P10 newest 200 of ${long.toLocaleString('en')}, ${tool === null ? 'any tool' : `${tool} tool`}`;
  return judge('P10', {
    name,
    value: ms,
    unit: 'ms',
    baseline: `of ${short.toLocaleString('en')}: ${baselineMs.toFixed(2)} ms`,
    ratio,
  });
}

type CountRequest = (log: Log) => Promise<object>;

const sinceDays = (count: number): string => new Date(end.getTime() - count * 24 * 3_600_000).toISOString();

/** The time that each covers is the same in both logs; the long one has more calls in it. */
const countRequests: readonly (readonly [string, CountRequest])[] = [
  ['decisions of an hour by outcome', ({ deps, actor }) => readDecisions(deps, actor, {})],
  ['decisions of a day by tool', ({ deps, actor }) => readDecisions(deps, actor, { by: 'tool', since: sinceDays(1) })],
  ['denials of a week by agent', ({ deps, actor }) => readDecisions(deps, actor, { by: 'agent', outcome: 'deny', since: sinceDays(7) })],
  ['decisions of a month by reason', ({ deps, actor }) => readDecisions(deps, actor, { by: 'reason', since: sinceDays(days) })],
  ['redactions of a week', ({ deps, actor }) => readRedactions(deps, actor, { since: sinceDays(7) })],
  ['unknown agents of a month', ({ deps, actor }) => readUnknownAgents(deps, actor, {})],
];

async function compareCounts(large: Log, small: Log, name: string, ask: CountRequest): Promise<Result> {
  const { ms, baselineMs, ratio } = await comparePairs(
    () => ask(large),
    () => ask(small),
    rounds,
  );
  return judge('P10', {
    name: `P10 ${name}, of ${long.toLocaleString('en')}`,
    value: ms,
    unit: 'ms',
    baseline: `of ${short.toLocaleString('en')}: ${baselineMs.toFixed(2)} ms`,
    ratio,
  });
}

/** The export starts from a time near the end: finding the start must not read the whole log. */
async function compareExport(large: Log, small: Log): Promise<Result> {
  const first = async ({ deps, actor }: Log, since: Date): Promise<void> => {
    let read = 0;
    for await (const _entry of await exportAudit(deps, actor, { since: since.toISOString() })) if (++read === 5_000) break;
  };
  const { ms, baselineMs, ratio } = await comparePairs(
    () => first(large, new Date(end.getTime() - 12 * 3_600_000 - days * 5_000 * (86_400_000 / long))),
    () => first(small, new Date(end.getTime() - (days * 86_400_000) / 2)),
    5,
  );
  return judge('export', {
    name: 'Export of 5,000 entries near the end',
    value: ms,
    unit: 'ms',
    baseline: `of the short log: ${baselineMs.toFixed(1)} ms`,
    // The query reads at most the rest of the day in which it begins.
    ratio,
  });
}

const batchRows = 1_000;

/** Ingests each batch once in each way, in turn, into the same table; a batch is acknowledged after its commit. */
async function compareIngest({ deps, actor: { workspaceId } }: Log): Promise<readonly Result[]> {
  const ingest = createIngest(deps);
  let ingestNumber = 10_000_000_000;
  const shipped = (): readonly ShippedRecord[] => records(1, batchRows, () => entry({ ts: end.toISOString() }));
  const arrival = { ingest: 0, id: 'a', receivedAt: end.toISOString(), recordedBy: 'key', deliveredBy: 'key', onlySub: null };
  const prepared = (): readonly NumberedEntry[] =>
    shipped().flatMap(({ sequence, content }) =>
      'entry' in content
        ? [
            {
              spoolId: '',
              sequence,
              ingest: 0,
              receivedAt: arrival.receivedAt,
              entry: entryFromRecord(openRecord(content.entry, end), arrival),
            },
          ]
        : [],
    );
  const spoolId = (): string => randomBytes(16).toString('hex');
  const byIngest = async (): Promise<void> =>
    void acknowledgedOf(await ingest(batchOf({ workspaceId, spoolId: spoolId(), records: batch })));
  const batch = shipped();
  const entries = prepared();
  const inOne = (run: (client: PoolClient, spool: string) => Promise<void>) => () =>
    inTransaction(deps.pool, (client) => run(client, spoolId()));
  const byCopy = inOne((client, spool) =>
    copyEntries(
      client,
      workspaceId,
      entries.map((one) => ({ ...one, spoolId: spool, ingest: ++ingestNumber })),
    ),
  );
  const insertAll = async (db: Pick<PoolClient, 'query'>, spool: string): Promise<void> => {
    for (const { sequence, entry: one } of entries) {
      const { ts, tool, decision, agentName, sub, sessionId, rest, digest } = one;
      await db.query('insert into audit_entry values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)', [
        workspaceId,
        ts,
        spool,
        sequence,
        ++ingestNumber,
        end,
        tool,
        decision,
        agentName,
        sub,
        sessionId,
        rest,
        Buffer.from(digest, 'hex'),
      ]);
    }
  };
  const copy = await comparePairs(byIngest, byCopy, 20);
  const insert = await comparePairs(byIngest, () => insertAll(deps.pool, spoolId()), 7);
  const together = await comparePairs(byIngest, inOne(insertAll), 7);
  // Entries a second as a share of the baseline's.
  const timed = (name: string, { ms, ratio }: typeof copy) => ({ name, value: ms, unit: 'ms a 1,000', ratio: 1 / ratio });
  const perSecond = (ms: number): string => `${Math.round((batchRows / ms) * 1000).toLocaleString('en')} a second`;
  return [
    judge('P9 COPY', { ...timed('P9 ingest against COPY', copy), baseline: `COPY, ${perSecond(copy.baselineMs)}` }),
    judge('P9 INSERT', {
      ...timed('P9 ingest against INSERT', insert),
      baseline: `INSERT, each committed, ${perSecond(insert.baselineMs)}`,
    }),
    orient({
      ...timed('P9 orientation: INSERTs together', together),
      baseline: `INSERTs of one transaction, ${perSecond(together.baselineMs)}`,
    }),
  ];
}

/** Like `comparePairs` of measure.ts, for asynchronous functions. */
async function comparePairs(subject: () => Promise<unknown>, baseline: () => Promise<unknown>, count: number) {
  const timed = async (run: () => Promise<unknown>): Promise<number> => {
    const startedAt = performance.now();
    await run();
    return performance.now() - startedAt;
  };
  await timed(subject);
  await timed(baseline);
  const pairs: { readonly ms: number; readonly baselineMs: number }[] = [];
  for (let n = 0; n < count; n += 1) pairs.push({ ms: await timed(subject), baselineMs: await timed(baseline) });
  const median = (of: (pair: (typeof pairs)[number]) => number): number => percentile(pairs.map(of), 0.5);
  return {
    ms: median(({ ms }) => ms),
    baselineMs: median(({ baselineMs }) => baselineMs),
    ratio: median(({ ms, baselineMs }) => ms / baselineMs),
  };
}
