// Reads several approvals: pages of the list, what has changed, what is watched, and what is counted.
import type { ApprovalState } from '@tollgate/proto/contract';
import { isApprovalState, type StatusParts } from '../rules/approval.ts';
import type pg from 'pg';
import { queryPatiently } from '../../database/patience.ts';
import { rowIs } from '../../database/row.ts';
import type { Queryable } from '../../database/transaction.ts';

/** Only approvals that match each given value. */
export interface ListFilters {
  readonly state?: ApprovalState | undefined;
  readonly tool?: string | undefined;
  readonly agent?: string | undefined;
  readonly sub?: string | undefined;
  readonly session?: string | undefined;
}

/** Whose approvals a caller sees; null: all. */
export interface Sight {
  readonly sub: string;
  /** What names the caller in rules. */
  readonly names: readonly string[];
}

export interface ListPlace {
  /** In µs since 1970. */
  readonly createdUs: string;
  readonly id: string;
}

const seen = (sub: string, names: string): string => `(${sub}::text is null or origin_sub = ${sub} or approvers && ${names}::text[])`;

const dueState = `case when due_at <= clock_timestamp() then 'expired' else state end`;

/** Lists ids, newest first. `before`: only those before this place. */
export async function listIds(
  db: Queryable,
  workspaceId: number,
  { filters, sight, before, limit }: { filters: ListFilters; sight: Sight | null; before: ListPlace | null; limit: number },
): Promise<readonly ListPlace[]> {
  const { rows } = await db.query<{ id: string; us: string }>(
    `select id, (extract(epoch from created_at) * 1000000)::bigint as us from approval
     where workspace_id = $1 and ${seen('$2', '$3')}
       and ($4::text is null or ${dueState} = $4) and ($5::text is null or tool = $5)
       and ($6::text is null or agents[array_length(agents, 1)] = $6) and ($7::text is null or origin_sub = $7)
       and ($8::text is null or session_id = $8)
       and ($9::bigint is null or (created_at, id) < (timestamptz 'epoch' + $9::bigint * interval '1 microsecond', $10::text collate "C"))
     order by created_at desc, id desc limit $11`,
    [
      workspaceId,
      sight?.sub,
      sight?.names,
      filters.state,
      filters.tool,
      filters.agent,
      filters.sub,
      filters.session,
      before?.createdUs,
      before?.id,
      limit,
    ],
  );
  return rows.map(({ id, us }) => ({ id, createdUs: us }));
}

/**
 * Lists approvals that have changed within the last `seconds`, with their versions, the oldest change first. Transactions
 * commit in another order than they begin, so a reader looks further back than it has read.
 */
export async function listChanged(
  db: Queryable,
  workspaceId: number,
  { sight, seconds, limit }: { sight: Sight | null; seconds: number; limit: number },
): Promise<readonly { readonly id: string; readonly version: number }[]> {
  const { rows } = await db.query<{ id: string; version: number }>(
    `select id, version from approval where workspace_id = $1 and ${seen('$2', '$3')}
       and changed_at > clock_timestamp() - make_interval(secs => $4) order by changed_at limit $5`,
    [workspaceId, sight?.sub, sight?.names, seconds, limit],
  );
  return rows;
}

export interface WatchedStatus extends StatusParts {
  readonly workspaceId: number;
  readonly call: { readonly keyId: string; readonly originSub: string };
}

/** Returns those of the named approvals that are no longer pending, and the time of the database. */
export async function readDecided(
  db: Queryable,
  refs: readonly { readonly workspaceId: number; readonly id: string }[],
): Promise<readonly (WatchedStatus & { readonly now: Date })[]> {
  const { rows } = await db.query<{
    workspace_id: string;
    id: string;
    state: string;
    due_at: Date | null;
    answered_at: Date | null;
    answered_by: string | null;
    note: string | null;
    key_id: string;
    origin_sub: string;
    now: Date;
  }>(
    `select a.workspace_id, a.id, a.key_id, a.origin_sub, a.state, a.due_at, a.answered_at, a.answered_by, a.note, clock_timestamp() as now
     from unnest($1::bigint[], $2::text[]) as watched(workspace_id, id)
     join approval a on a.workspace_id = watched.workspace_id and a.id = watched.id
     where a.state <> 'pending' or a.due_at <= clock_timestamp()`,
    [refs.map(({ workspaceId }) => workspaceId), refs.map(({ id }) => id)],
  );
  return rows.map((row) => ({
    workspaceId: Number(row.workspace_id),
    id: row.id,
    state: rowIs(isApprovalState, row.state),
    dueAt: row.due_at,
    answeredAt: row.answered_at,
    answeredBy: row.answered_by,
    note: row.note,
    call: { keyId: row.key_id, originSub: row.origin_sub },
    now: row.now,
  }));
}

/** Returns how many approvals are pending in all workspaces, and for how many seconds the oldest has been. */
export async function countPending(db: Queryable): Promise<{ readonly pending: number; readonly oldestSeconds: number }> {
  const { rows } = await db.query<{ pending: number; oldest: number | null }>(
    `select count(*)::int as pending, extract(epoch from clock_timestamp() - min(created_at))::float8 as oldest
     from approval where due_at > clock_timestamp() and state = 'pending'`,
  );
  return { pending: rows[0]?.pending ?? 0, oldestSeconds: rows[0]?.oldest ?? 0 };
}

/** What became of the approvals of a subject since a time. */
export interface CountedSteps {
  readonly sub: string;
  readonly asked: number;
  /** The call may be made: as many persons have approved as its rules need. */
  readonly approved: number;
  readonly denied: number;
  /** No one answered in time, or an approved call was not made in time. */
  readonly expired: number;
  /** Uses that were claimed, and not returned. */
  readonly used: number;
}

/**
 * Counts the steps since `since` for each subject, the one with the most asks first, at most `limit` subjects. Fails after
 * `timeoutMs`.
 */
export function countSteps(
  pool: pg.Pool,
  workspaceId: number,
  { since, sub, limit }: { readonly since: Date; readonly sub: string | null; readonly limit: number },
  timeoutMs: number,
): Promise<readonly CountedSteps[]> {
  // Each step changes its approval, so that earlier approvals without a step since then are not read.
  const text = `with changed as (
       select id, origin_sub from approval where workspace_id = $1 and changed_at >= $2 and ($3::text is null or origin_sub = $3)
     ), step as (
       select origin_sub, action from changed join approval_event event on event.workspace_id = $1 and event.approval_id = changed.id
       where event.at >= $2
       union all
       select origin_sub, 'used' from changed join approval_use on approval_use.workspace_id = $1 and approval_id = changed.id
       where claimed_at >= $2 and returned_at is null
     )
     select origin_sub as sub, count(*) filter (where action = 'asked')::int as asked, count(*) filter (where action = 'approved')::int as approved,
       count(*) filter (where action = 'denied')::int as denied, count(*) filter (where action = 'expired')::int as expired,
       count(*) filter (where action = 'used')::int as used
     from step where action in ('asked', 'approved', 'denied', 'expired', 'used')
     group by origin_sub order by asked desc, sub limit $4`;
  return queryPatiently<{ [K in keyof CountedSteps]: CountedSteps[K] }>(
    pool,
    { text, values: [workspaceId, since, sub, limit] },
    timeoutMs,
  );
}

/** Returns the ids of a question's approvals, the oldest first. */
export async function listQuestion(db: Queryable, workspaceId: number, questionId: string): Promise<readonly string[]> {
  const { rows } = await db.query<{ id: string }>(
    'select id from approval where workspace_id = $1 and question_id = $2 order by created_at, id',
    [workspaceId, questionId],
  );
  return rows.map(({ id }) => id);
}

export interface SessionCall {
  readonly ts: string;
  readonly tool: string;
  readonly decision: string;
  readonly code: string;
  readonly reason: string;
}

/** Returns the last governed calls of a session, newest first, each once. What they contained is not among it. */
export async function listLastCalls(
  db: Queryable,
  workspaceId: number,
  { sessionId, originSub, limit }: { readonly sessionId: string; readonly originSub: string; readonly limit: number },
): Promise<readonly SessionCall[]> {
  const { rows } = await db.query<{ ts: Date; tool: string; decision: string; code: string | null; reason: string | null }>(
    `select ts, tool, decision, entry->>'code' as code, entry->>'decisionReason' as reason from audit_entry
     where workspace_id = $1 and session_id = $2 and sub = $3 and entry->>'hookEvent' = 'PreToolUse' order by ts desc limit $4`,
    [workspaceId, sessionId, originSub, limit],
  );
  return rows.map(({ ts, tool, decision, code, reason }) => ({
    ts: ts.toISOString(),
    tool,
    decision,
    code: code ?? '',
    reason: reason ?? '',
  }));
}
