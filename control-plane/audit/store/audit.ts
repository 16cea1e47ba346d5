// Reads the audit log: newest first by the time of the decision, or in the order of arrival.
import type pg from 'pg';
import type { AuditFilters, AuditPosition, AuditQuery } from '../rules/audit-query.ts';
import { isObject } from '@tollgate/proto/shape';
import { rowIs } from '../../database/row.ts';
import { queryPatiently } from '../../database/patience.ts';
import type { Queryable } from '../../database/transaction.ts';

/** An entry as the API shows it, and its position. */
export interface ReadEntry {
  readonly position: AuditPosition;
  readonly entry: Readonly<Record<string, unknown>>;
}

export interface EntryRow {
  readonly ts: Date;
  readonly spool_id: string;
  readonly sequence: string;
  readonly received_at: Date;
  readonly tool: string;
  readonly decision: string;
  readonly agent_name: string;
  readonly sub: string;
  readonly session_id: string;
  readonly entry: unknown;
}

/** An entry and its number in the ingest sequence. */
interface IngestedEntry {
  readonly ingest: number;
  readonly entry: Readonly<Record<string, unknown>>;
}

/** A range of the ingest sequence: `after < ingest <= upTo`. */
export interface IngestRange {
  readonly after: number;
  readonly upTo: number;
  /** The start of the range; null: everything that is kept. */
  readonly since: Date | null;
  /** The end of the range, exclusive; null: no end. */
  readonly until: Date | null;
  readonly filters: AuditFilters;
}

export interface IngestPage {
  readonly entries: readonly IngestedEntry[];
  /** `entries` contains everything up to this number. The next page continues after it. */
  readonly reached: number;
}

/**
 * The number of rows in one page, and the number of rows that are examined to find them. The second limit prevents a
 * query over the whole log for a rare tool.
 */
const pageRows = { held: 500, lookedAt: 2000 };
/** Maximum size of a page, as stored; a single entry can be larger. */
const pageBytesMax = 4 * 1_048_576;

const columnOf: Readonly<Record<keyof AuditFilters, string>> = {
  tool: 'tool',
  decision: 'decision',
  agent: 'agent_name',
  sub: 'sub',
  session: 'session_id',
  reason: "(entry ->> 'code')",
};
export const shown = 'ts, spool_id, sequence, received_at, tool, decision, agent_name, sub, session_id, entry';

/** Collects the values of a statement and returns the placeholder of each. */
function createParameters() {
  const values: unknown[] = [];
  return { values, place: (value: unknown): string => `$${values.push(value)}` };
}

type Place = (value: unknown) => string;

const filterConditions = (filters: AuditFilters, place: Place): readonly string[] =>
  Object.entries(columnOf).flatMap(([name, column]) => {
    const value = Object.entries(filters).find(([filter]) => filter === name)?.[1];
    return value === undefined ? [] : [`${column} = ${place(value)}`];
  });

/** Returns at most `limit + 1` entries, so that the caller sees whether more follow. */
export async function readAudit(pool: pg.Pool, workspaceId: number, query: AuditQuery): Promise<readonly ReadEntry[]> {
  const { values, place } = createParameters();
  const conditions = [`workspace_id = ${place(workspaceId)}`, `ts >= ${place(query.since)}`, ...filterConditions(query.filters, place)];
  if (query.until !== null) conditions.push(`ts < ${place(query.until)}`);
  if (query.after !== null) {
    const { ts, spoolId, sequence } = query.after;
    // The first condition follows from the second. It is added because it lets PostgreSQL skip partitions.
    const at = place(ts);
    conditions.push(`ts <= ${at}`, `(ts, spool_id, sequence) < (${at}, ${place(spoolId)}, ${place(sequence)})`);
  }
  const sql = `select ${shown} from audit_entry where ${conditions.join(' and ')}
     order by ts desc, spool_id desc, sequence desc limit ${place(query.limit + 1)}`;
  const rows = await queryPatiently<EntryRow>(pool, { text: sql, values });
  return rows.map((row) => ({ position: positionOf(row), entry: entryFromRow(row) }));
}

/**
 * Returns the ingest number of the workspace's newest entry; 0 before the first entry. All entries up to this number
 * are committed.
 */
export async function readHead(db: Queryable, workspaceId: number): Promise<number> {
  return (await readHeads(db, [workspaceId])).get(workspaceId) ?? 0;
}

/** Returns the heads of several workspaces. A workspace without entries is absent. */
export async function readHeads(db: Queryable, workspaceIds: readonly number[]): Promise<ReadonlyMap<number, number>> {
  const { rows } = await db.query<{ workspace_id: string; ingest: string }>(
    'select workspace_id, ingest from audit_head where workspace_id = any($1)',
    [workspaceIds],
  );
  return new Map(rows.map((row) => [Number(row.workspace_id), Number(row.ingest)]));
}

/** Reads one page of a range, oldest first. */
export async function readIngested(pool: pg.Pool, workspaceId: number, range: IngestRange): Promise<IngestPage> {
  const rows = await queryPatiently<IngestedRow>(pool, ingestedQuery(workspaceId, range));
  const entries = rows.flatMap((row) => (row.ingest === null ? [] : [{ ingest: Number(row.ingest), entry: entryFromRow(row) }]));
  const scanned = rows[0]?.scanned ?? null;
  const last = entries.at(-1);
  const full = entries.length === pageRows.held || entries.length < Number(rows[0]?.matching ?? 0);
  if (last !== undefined && full) return { entries, reached: last.ingest };
  return { entries, reached: scanned === null ? range.upTo : Number(scanned) };
}

/** A page without entries has one row, in which `ingest` is null. */
interface IngestedRow extends EntryRow {
  readonly ingest: string | null;
  /** The last number that was examined; null: the range has no more rows. */
  readonly scanned: string | null;
  /** Rows that would be in the page without the size limit. */
  readonly matching: string;
}

/**
 * Returns a query that examines a limited number of rows by the index on (workspace_id, ingest), whatever the filters
 * are. The query also returns how far it got. Numbers whose entries were dropped with their day cost nothing.
 */
export function ingestedQuery(workspaceId: number, { after, upTo, since, until, filters }: IngestRange) {
  const { values, place } = createParameters();
  const within = [`workspace_id = ${place(workspaceId)}`, `ingest > ${place(after)}`, `ingest <= ${place(upTo)}`];
  const wanted = [...filterConditions(filters, place)];
  // These bounds are whole days, so that PostgreSQL can skip partitions. They exclude no row of the partitions that are
  // read. The exact bounds are applied later, so that the rows that they exclude are still examined and counted.
  if (since !== null) {
    within.push(`ts >= ${place(startOfDay(since))}`);
    wanted.push(`ts >= ${place(since)}`);
  }
  if (until !== null) {
    within.push(`ts < ${place(startOfDay(new Date(until.getTime() + dayMs - 1)))}`);
    wanted.push(`ts < ${place(until)}`);
  }
  const rows = place(wanted.length === 0 ? pageRows.held : pageRows.lookedAt);
  const text = `with page as materialized (
       select ingest, ${shown} from audit_entry where ${within.join(' and ')} order by ingest limit ${rows}
     ), matching as (
       select * from page where ${['true', ...wanted].join(' and ')} order by ingest limit ${place(pageRows.held)}
     ), weighed as (
       select *, sum(pg_column_size(entry)) over (order by ingest rows unbounded preceding) - pg_column_size(entry) as weight_before
       from matching
     )
     select one.*, found.* from (select (select max(ingest) from page) as scanned, (select count(*) from matching) as matching) one
     left join weighed found on found.weight_before < ${place(pageBytesMax)} order by found.ingest`;
  return { text, values };
}

const dayMs = 24 * 3_600_000;

/** Returns the start of the day in UTC, because partitions are UTC days. */
const startOfDay = (instant: Date): Date => new Date(Math.floor(instant.getTime() / dayMs) * dayMs);

const spoolIdOf = (row: EntryRow): string => row.spool_id.replaceAll('-', '');

const positionOf = (row: EntryRow): AuditPosition => ({ ts: row.ts, spoolId: spoolIdOf(row), sequence: Number(row.sequence) });

/** Returns the entry in the form that every answer has. */
export const entryFromRow = (row: EntryRow): Readonly<Record<string, unknown>> => ({
  ...rowIs(isObject, row.entry),
  id: `${spoolIdOf(row)}-${row.sequence}`,
  ts: row.ts.toISOString(),
  receivedAt: row.received_at.toISOString(),
  tool: row.tool,
  decision: row.decision,
  agentName: row.agent_name,
  sub: row.sub,
  sessionId: row.session_id,
});
