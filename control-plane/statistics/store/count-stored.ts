// Counts stored entries that were not counted when they were stored, because a version that does not count stored them:
// those from before migration 0033, and those of a rolling update. It counts as rules/tally.ts does, in SQL.
import type pg from 'pg';
import { findingBounds } from '../rules/tally.ts';
import { patientQuery } from '../../database/transaction.ts';
import { decisionColumns, findingColumns, type Items, onDecision, onFinding } from './counts.ts';

/** Returns the workspaces of which items are not counted. */
export async function listUncounted(pool: pg.Pool): Promise<readonly number[]> {
  const { rows } = await pool.query<{ workspace_id: string }>(
    `select workspace_id from audit_head head left join count_head counted using (workspace_id)
     where head.ingest > coalesce(counted.ingest, 0) order by workspace_id`,
  );
  return rows.map((row) => Number(row.workspace_id));
}

/**
 * Locks the log and returns the next items that are not counted, at most `max`. Returns null if all are counted, or if
 * there is no such log.
 */
export async function lockUncounted(client: pg.PoolClient, workspaceId: number, max: number): Promise<Items | null> {
  const lock = patientQuery('select ingest from audit_head where workspace_id = $1 for update', [workspaceId]);
  const { rows: heads } = await client.query<{ ingest: string }>(lock);
  if (heads[0] === undefined) return null;
  // Read by a statement of its own, because the one above began before it had the lock.
  const { rows } = await client.query<{ ingest: string }>('select ingest from count_head where workspace_id = $1', [workspaceId]);
  if (rows[0] === undefined) await client.query('insert into count_head (workspace_id, ingest) values ($1, 0)', [workspaceId]);
  const after = Number(rows[0]?.ingest ?? 0);
  const upTo = Math.min(Number(heads[0].ingest), after + max);
  return upTo > after ? { after, upTo } : null;
}

const keyOf = ['decision', 'redacted::text', 'code', 'tool', 'agent_name']
  .map((column) => `convert_to(${column}, 'UTF8')`)
  .join(" || '\\x00' || ");

/** SQL: the hours and the days of minutes. `of`: the columns by which is counted. */
const slotsOf = (minutes: string, of: string): string =>
  `select 60 as slots, date_trunc('hour', minute, 'UTC') as at, extract(minute from minute at time zone 'UTC')::integer as slot,
     ${of}, n, first_at, last_at from ${minutes}
   union all
   select 24 as slots, date_trunc('day', minute, 'UTC'), extract(hour from minute at time zone 'UTC')::integer,
     ${of}, sum(n), min(first_at), max(last_at) from ${minutes} group by 1, 2, 3, ${of}`;

/** SQL: one row for each hour and each day. */
const rowsOf = (slots: string, of: string): string =>
  `select slots, at, ${of}, jsonb_object_agg(slot, n) as filled, sum(n) as total, min(first_at) as first_at, max(last_at) as last_at
   from ${slots} group by slots, at, ${of}`;

const countsOf = (type: 'integer' | 'bigint'): string =>
  `array(select coalesce((filled ->> slot::text)::${type}, 0) from generate_series(0, slots - 1) slot order by slot)`;

const decided = 'decision, redacted, code, tool, agent_name';
const number = `(one ->> 'count')::numeric`;

const countText = `with call as (
  select date_trunc('minute', ts, 'UTC') as minute, decision,
    coalesce(entry -> 'transform' = '"redact"' and jsonb_typeof(entry -> 'findings') = 'array' and entry -> 'findings' <> '[]', false) as redacted,
    case when jsonb_typeof(entry -> 'code') = 'string' and entry ->> 'code' ~ '^[a-z0-9_]{1,64}$' then entry ->> 'code' else '' end as code,
    tool, agent_name, count(*) as n, min(ts) as first_at, max(ts) as last_at
  from audit_entry where workspace_id = $1 and ingest > $2 and ingest <= $3 and entry ->> 'hookEvent' = 'PreToolUse'
  group by 1, 2, 3, 4, 5, 6),
call_slot as (${slotsOf('call', decided)}),
call_row as (${rowsOf('call_slot', decided)}),
decisions as (
  insert into decision_count as one (${decisionColumns})
  select $1, at, slots, encode(substring(sha256(${keyOf}) from 1 for 16), 'hex')::uuid,
    ${decided}, ${countsOf('integer')}, total, first_at, last_at
  from call_row ${onDecision}),
finding as (
  select date_trunc('minute', ts, 'UTC') as minute, one ->> 'kind' as kind, sum(${number}) as n, min(ts) as first_at, max(ts) as last_at
  from audit_entry, jsonb_array_elements(case when jsonb_typeof(entry -> 'findings') = 'array' then entry -> 'findings' else '[]' end)
    with ordinality as found (one, place)
  where workspace_id = $1 and ingest > $2 and ingest <= $3 and entry -> 'transform' = '"redact"' and place <= ${findingBounds.perEntry}
    and jsonb_typeof(one -> 'kind') = 'string' and octet_length(one ->> 'kind') between 1 and ${findingBounds.kindBytes}
    and case when jsonb_typeof(one -> 'count') = 'number'
      then ${number} between 1 and ${findingBounds.count} and trunc(${number}) = ${number} else false end
  group by 1, 2),
finding_slot as (${slotsOf('finding', 'kind')}),
finding_row as (${rowsOf('finding_slot', 'kind')}),
findings as (
  insert into finding_count as one (${findingColumns})
  select $1, at, slots, kind, ${countsOf('bigint')}, total, first_at, last_at from finding_row ${onFinding})
update count_head set ingest = $3 where workspace_id = $1`;

/** Counts these items. `lockUncounted` has returned them in this transaction. */
export async function countStored(client: pg.PoolClient, workspaceId: number, { after, upTo }: Items): Promise<void> {
  await client.query(patientQuery(countText, [workspaceId, after, upTo]));
}
