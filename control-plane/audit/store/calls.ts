// Reads the entries of one call by its request id, and the calls around it in its session.
import type pg from 'pg';
import { queryPatiently } from '../../database/patience.ts';
import type { AuditPosition } from '../rules/audit-query.ts';
import { entryFromRow, type EntryRow, shown } from './audit.ts';

/** The place of an entry of a request. */
export interface RequestPlace {
  readonly position: AuditPosition;
  readonly hookEvent: string;
  readonly tool: string;
  readonly decision: string;
}

/** The maximum number of entries of one request id. A caller that uses one id for all its calls has any number of them. */
const requestEntriesMax = 1_000;

interface PlaceRow {
  readonly ts: Date;
  readonly spool_id: string;
  readonly sequence: string;
  readonly hook_event: string | null;
  readonly tool: string;
  readonly decision: string;
}

/**
 * Returns the places of the entries of a request, oldest first, at most `requestEntriesMax`. `around`: only entries of
 * this time, so that only the partitions of its days are read; null: all that are kept.
 */
export async function listRequestPlaces(
  pool: pg.Pool,
  workspaceId: number,
  requestId: string,
  around: { readonly from: Date; readonly to: Date } | null,
): Promise<readonly RequestPlace[]> {
  const rows = await queryPatiently<PlaceRow>(pool, {
    text: `with found as materialized (
        select ts, spool_id, sequence, entry ->> 'hookEvent' as hook_event, tool, decision from audit_entry
        where hashtextextended(entry ->> 'requestId', workspace_id) = hashtextextended($2::text, $1::bigint)
          and workspace_id = $1 and entry ->> 'requestId' = $2 ${around === null ? '' : 'and ts >= $4 and ts <= $5'} limit $3)
      select * from found order by ts, spool_id, sequence`,
    values: [workspaceId, requestId, requestEntriesMax, ...(around === null ? [] : [around.from, around.to])],
  });
  return rows.map((row) => ({
    position: positionOf(row),
    hookEvent: row.hook_event ?? '',
    tool: row.tool,
    decision: row.decision,
  }));
}

/** Returns the entries at these places, in the form that every answer has. An entry that was dropped meanwhile is absent. */
export async function readEntriesAt(
  pool: pg.Pool,
  workspaceId: number,
  places: readonly AuditPosition[],
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const rows = await queryPatiently<EntryRow>(pool, {
    text: `select ${shown} from audit_entry
      join unnest($2::timestamptz[], $3::uuid[], $4::bigint[]) as wanted (ts, spool_id, sequence) using (ts, spool_id, sequence)
      where workspace_id = $1 and ts = any($2::timestamptz[])`,
    values: [workspaceId, places.map(({ ts }) => ts), places.map(({ spoolId }) => spoolId), places.map(({ sequence }) => sequence)],
  });
  return rows.map(entryFromRow);
}

/** A call of a session, as far as a graph of calls needs it. */
export interface SessionStep {
  readonly requestId: string;
  readonly agent: string;
  readonly chain: readonly string[];
  readonly tool: string;
  readonly decision: string;
  readonly code: string;
  readonly transform: string;
  readonly findings: number;
  readonly ts: Date;
}

interface StepRow {
  readonly request_id: string | null;
  readonly agent_name: string;
  readonly chain: unknown;
  readonly tool: string;
  readonly decision: string;
  readonly code: string | null;
  readonly transform: string | null;
  readonly findings: number;
  readonly ts: Date;
}

/**
 * Returns calls of the session before and from a position on, each at most `limit`, oldest first. `looked`: how many
 * entries of each side are read for them, because entries of outputs are not calls.
 */
export async function listSessionCalls(
  pool: pg.Pool,
  workspaceId: number,
  { sessionId, at }: { readonly sessionId: string; readonly at: AuditPosition },
  { limit, looked }: { readonly limit: number; readonly looked: number },
): Promise<{ readonly before: readonly SessionStep[]; readonly from: readonly SessionStep[] }> {
  const side = (compared: '<' | '>=', order: 'asc' | 'desc') => ({
    text: `with looked as materialized (
        select ts, spool_id, sequence, tool, decision, agent_name, entry from audit_entry
        where workspace_id = $1 and session_id = $2 and ts ${compared}${compared === '<' ? '=' : ''} $3
          and (ts, spool_id, sequence) ${compared} ($3, $4, $5)
        order by ts ${order}, spool_id ${order}, sequence ${order} limit $6)
      select entry ->> 'requestId' as request_id, agent_name, entry -> 'chain' as chain, tool, decision, entry ->> 'code' as code,
        entry ->> 'transform' as transform, ts,
        case when jsonb_typeof(entry -> 'findings') = 'array' then jsonb_array_length(entry -> 'findings') else 0 end as findings
      from looked where entry ->> 'hookEvent' = 'PreToolUse' order by ts ${order}, spool_id ${order}, sequence ${order} limit $7`,
    values: [workspaceId, sessionId, at.ts, at.spoolId, at.sequence, looked, limit],
  });
  const [before, from] = [await queryPatiently<StepRow>(pool, side('<', 'desc')), await queryPatiently<StepRow>(pool, side('>=', 'asc'))];
  return { before: before.map(stepFromRow).toReversed(), from: from.map(stepFromRow) };
}

/** The chain of a step is for a graph. It is cut, because a sidecar can write anything. */
const chainMax = { names: 64, characters: 200 } as const;

const stepFromRow = ({ request_id, agent_name, chain, code, transform, ...row }: StepRow): SessionStep => ({
  ...row,
  requestId: request_id ?? '',
  agent: agent_name,
  chain: Array.isArray(chain)
    ? chain.slice(-chainMax.names).flatMap((name) => (typeof name === 'string' ? [name.slice(0, chainMax.characters)] : []))
    : [],
  code: code ?? '',
  transform: transform ?? '',
});

const positionOf = ({ ts, spool_id, sequence }: Pick<PlaceRow, 'ts' | 'spool_id' | 'sequence'>): AuditPosition => ({
  ts,
  spoolId: spool_id.replaceAll('-', ''),
  sequence: Number(sequence),
});
