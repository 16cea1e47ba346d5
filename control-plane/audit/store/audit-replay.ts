// Reads the audit log oldest first, page by page. Each page is a separate short query, and no lock or transaction is
// held between two pages. Entries that arrive in the meantime are read if they come after the current position. Inputs
// are read only on request.
import type pg from 'pg';
import type { AuditPosition } from '../rules/audit-query.ts';
import { isObject } from '@tollgate/proto/shape';
import type { ReplayedEntry } from '../../policies/evaluate/replayed-call.ts';
import { queryPatiently } from '../../database/patience.ts';
import { rowIs } from '../../database/row.ts';
import { patienceMs } from '../../database/transaction.ts';

export interface ReplayedPage {
  /** `PreToolUse` entries only. */
  readonly entries: readonly ReplayedEntry[];
  /** Entries of all kinds that were read for the page. */
  readonly rows: number;
  /** Start of the next page; null: this was the last page. */
  readonly after: AuditPosition | null;
}

export interface ReplayRange {
  /** `since` and `until` are both inclusive. */
  readonly since: Date;
  readonly until: Date;
  /** Only entries after this position, that is, newer ones. */
  readonly after: AuditPosition | null;
  /** Whether the inputs of the calls are read too. A page has the same maximum size. */
  readonly readsInput?: boolean;
}

interface ReplayRow {
  readonly ts: Date;
  readonly spool_id: string;
  readonly sequence: string;
  readonly tool: string;
  readonly decision: string;
  readonly agent_name: string;
  readonly sub: string;
  /** The fields as JSON; null: the entry is not a `PreToolUse` entry. */
  readonly fields: string | null;
  /** Rows that would be in the page without the size limit. */
  readonly found: number;
}

const pageRows = 1_000;
/**
 * Maximum size of a page as JSON; a single entry can be larger. The size in the table is not used, because entries are
 * compressed there.
 */
const pageBytesMax = 4 * 1_048_576;
const isDecision = (value: unknown): value is 'allow' | 'deny' => value === 'allow' || value === 'deny';

export async function readReplay(
  pool: pg.Pool,
  workspaceId: number,
  { since, until, after, readsInput = false }: ReplayRange,
  timeoutMs = patienceMs,
): Promise<ReplayedPage> {
  const values: unknown[] = [workspaceId, after?.ts ?? since, until, pageRows, pageBytesMax];
  if (after !== null) values.push(after.spoolId, after.sequence);
  const sql = `with page as materialized (
       select ts, spool_id, sequence, tool, decision, agent_name, sub,
         case when entry->>'hookEvent' = 'PreToolUse' then (${readsInput ? 'entry' : "(entry - 'input')"})::text end as fields
       from audit_entry where workspace_id = $1 and ts >= $2 and ts <= $3
       ${after === null ? '' : 'and (ts, spool_id, sequence) > ($2, $6, $7)'}
       order by ts, spool_id, sequence limit $4
     ), weighed as (
       select *, (count(*) over ())::int as found,
         coalesce(sum(octet_length(fields)) over (order by ts, spool_id, sequence rows between unbounded preceding and 1 preceding), 0) as bytes_before
       from page
     )
     select ts, spool_id, sequence, tool, decision, agent_name, sub, fields, found from weighed
     where bytes_before < $5 order by ts, spool_id, sequence`;
  const rows = await queryPatiently<ReplayRow>(pool, { text: sql, values }, timeoutMs);
  const last = rows.at(-1);
  return {
    entries: rows.flatMap((row) => (row.fields === null ? [] : [entryFromRow(row, rowIs(isObject, JSON.parse(row.fields)))])),
    rows: rows.length,
    after: last === undefined || (last.found < pageRows && rows.length === last.found) ? null : positionOf(last),
  };
}

const positionOf = ({ ts, spool_id, sequence }: Pick<ReplayRow, 'ts' | 'spool_id' | 'sequence'>): AuditPosition => ({
  ts,
  spoolId: spool_id.replaceAll('-', ''),
  sequence: Number(sequence),
});

function entryFromRow(row: ReplayRow, fields: ReplayedEntry['fields']): ReplayedEntry {
  const { spoolId, sequence } = positionOf(row);
  const { ts, tool, decision, agent_name: agentName, sub } = row;
  return { id: `${spoolId}-${sequence}`, ts, tool, decision: rowIs(isDecision, decision), agentName, sub, fields };
}

/** A run as its entries show it: calls of one key, subject, session and chain of agents. */
interface ReplayedRun {
  readonly sessionId: string;
  readonly agentId: string;
  readonly sub: string;
  readonly attempts: number;
  /** The time of the first of the entries that were read. */
  readonly since: Date;
}

interface RunRow {
  readonly session_id: string;
  readonly agent_id: string;
  readonly origin: string;
  readonly attempts: number;
  readonly first_at: Date;
  /** The number of entries that were read for all rows together. */
  readonly read: number;
}

interface RunQuestion {
  /** Runs with an entry since this time. */
  readonly active: Date;
  /** Attempts since this time are counted. */
  readonly counted: Date;
  /** Codes of calls that count as attempts. */
  readonly attempts: readonly string[];
  readonly sub: string | null;
  readonly agent: string | null;
  /** The maximum number of sessions and of entries. */
  readonly max: { readonly sessions: number; readonly entries: number };
}

export interface ReplayedRuns {
  readonly runs: readonly ReplayedRun[];
  /** Whether entries or sessions were left out. */
  readonly cut: boolean;
}

const origin = `coalesce(entry->>'originSub', sub)`;

/** Returns the runs that were active recently, the latest first. */
export async function readRuns(pool: pg.Pool, workspaceId: number, question: RunQuestion, timeoutMs: number): Promise<ReplayedRuns> {
  const { active, counted, attempts, sub, agent, max } = question;
  const recent = await queryPatiently<{ session_id: string; read: number }>(
    pool,
    {
      text: `select session_id, (sum(count(*)) over ())::int as read from (
         select session_id, ts from audit_entry
         where workspace_id = $1 and ts >= $2 and ($4::text is null or agent_name = $4) and ($5::text is null or ${origin} = $5)
         order by ts desc, spool_id desc, sequence desc limit $3) as latest
       group by session_id order by max(ts) desc limit $6`,
      values: [workspaceId, active, max.entries, agent, sub, max.sessions + 1],
    },
    timeoutMs,
  );
  const sessions = recent.slice(0, max.sessions).map(({ session_id }) => session_id);
  const found = await queryPatiently<RunRow>(
    pool,
    {
      text: `with latest as (
         select session_id, agent_name, sub, ts, entry from audit_entry
         where workspace_id = $1 and session_id = any($2) and ts >= $3 order by ts desc, spool_id desc, sequence desc limit $5)
       select session_id, entry->>'agentId' as agent_id, ${origin} as origin,
         (count(*) filter (where entry->>'code' = any($4)))::int as attempts, min(ts) as first_at, (select count(*) from latest)::int as read
       from latest
       where entry->>'hookEvent' = 'PreToolUse' and entry ? 'agentId'
         and ($6::text is null or agent_name = $6) and ($7::text is null or ${origin} = $7)
       group by session_id, agent_id, origin, entry->>'keyId', entry->'chain' order by max(ts) desc, session_id`,
      values: [workspaceId, sessions, counted, attempts, max.entries, agent, sub],
    },
    timeoutMs,
  );
  return {
    runs: found.map((row) => ({
      sessionId: row.session_id,
      agentId: row.agent_id,
      sub: row.origin,
      attempts: row.attempts,
      since: row.first_at,
    })),
    cut: recent.length > max.sessions || (recent[0]?.read ?? 0) >= max.entries || (found[0]?.read ?? 0) >= max.entries,
  };
}

/** Returns the latest time of arrival among the newest 1000 entries. It shows up to what time the log is filled. */
export async function readNewestReceived(pool: pg.Pool, workspaceId: number): Promise<Date | null> {
  const rows = await queryPatiently<{ received_at: Date | null }>(pool, {
    text: `select max(received_at) as received_at from (
       select received_at from audit_entry where workspace_id = $1 order by ts desc, spool_id desc, sequence desc limit 1000) as latest`,
    values: [workspaceId],
  });
  return rows[0]?.received_at ?? null;
}
