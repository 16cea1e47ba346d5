// Stores approvals. All times are by the clock of the database. A step locks the row of its approval, and only then reads
// the time: a transaction that waited for the lock must not use a time from before.
import type pg from 'pg';
import { type AskingRule, isTier, type RevisionName } from '@tollgate/proto/contract';
import { rowIs } from '../../database/row.ts';
import type { Queryable } from '../../database/transaction.ts';
import { type Approval, type ApprovalRef, type HiddenPlace, isApprovalState } from '../rules/approval.ts';
import type { FatigueCounts } from '../rules/fatigue.ts';
import { queueAsked, queueEnded } from '../../channels/store/messages.ts';

/** The channel that announces changed approvals, as `<workspace id>:<approval id>`. A message is only a hint. */
export const approvalChannel = 'tollgate_approval';

interface ApprovalRow {
  readonly workspace_id: string;
  readonly id: string;
  readonly question_id: string;
  readonly state: string;
  readonly version: number;
  readonly created_at: Date;
  readonly changed_at: Date;
  readonly expires_at: Date;
  readonly usable_until: Date | null;
  readonly due_at: Date | null;
  readonly answered_at: Date | null;
  readonly answered_by: string | null;
  readonly note: string | null;
  readonly key_id: string;
  readonly origin_sub: string;
  readonly session_id: string;
  readonly agents: readonly string[];
  readonly agent_type: string;
  readonly tier: string;
  readonly tool: string;
  readonly rules: readonly AskingRule[];
  readonly call_hmac: Buffer;
  readonly valid_seconds: number;
  readonly uses: number;
  readonly need: number;
  readonly revision_epoch: string;
  readonly revision: string;
  readonly claimed_client: string;
  readonly shown_input: string;
  readonly findings: Approval['findings'];
  readonly hidden: readonly HiddenPlace[];
  readonly sealed: Buffer | null;
  readonly revealed_by: readonly string[];
}

const columns = `workspace_id, id, question_id, state, version, created_at, changed_at, expires_at, usable_until, due_at, answered_at,
  answered_by, note, key_id, origin_sub, session_id, agents, agent_type, tier, tool, rules, call_hmac, valid_seconds, uses, need,
  revision_epoch, revision, claimed_client, shown_input, findings, hidden, sealed, revealed_by`;

const approvalFromRow = (row: ApprovalRow): Approval => ({
  workspaceId: Number(row.workspace_id),
  id: row.id,
  questionId: row.question_id,
  state: rowIs(isApprovalState, row.state),
  version: row.version,
  createdAt: row.created_at,
  changedAt: row.changed_at,
  expiresAt: row.expires_at,
  usableUntil: row.usable_until,
  dueAt: row.due_at,
  answeredAt: row.answered_at,
  answeredBy: row.answered_by,
  note: row.note,
  call: {
    keyId: row.key_id,
    originSub: row.origin_sub,
    sessionId: row.session_id,
    agents: row.agents,
    agentType: row.agent_type,
    tier: rowIs(isTier, row.tier),
    tool: row.tool,
  },
  callHmac: row.call_hmac,
  rules: row.rules,
  validSeconds: row.valid_seconds,
  uses: row.uses,
  need: row.need,
  revision: { epoch: row.revision_epoch, number: Number(row.revision) },
  claimedClient: row.claimed_client,
  shownInput: row.shown_input,
  findings: row.findings,
  hidden: row.hidden,
  sealed: row.sealed,
  revealedBy: row.revealed_by,
});

/** Returns the time of the database, now, and not when its transaction began. */
export async function readTime(db: Queryable): Promise<Date> {
  const { rows } = await db.query<{ now: Date }>('select clock_timestamp() as now');
  return rows[0]?.now ?? noTime();
}

function noTime(): never {
  throw new Error('the database must return its time, but returned no row');
}

const noForm = /[^A-Za-z0-9]/;

export async function findApproval(db: Queryable, { workspaceId, id }: ApprovalRef): Promise<Approval | null> {
  if (noForm.test(id)) return null;
  const { rows } = await db.query<ApprovalRow>(`select ${columns} from approval where workspace_id = $1 and id = $2`, [workspaceId, id]);
  return rows[0] === undefined ? null : approvalFromRow(rows[0]);
}

/** Locks the rows until the transaction ends, in the order of their ids. Returns those that exist. */
export async function lockApprovals(client: pg.PoolClient, workspaceId: number, ids: readonly string[]): Promise<readonly Approval[]> {
  const { rows } = await client.query<ApprovalRow>(
    `select ${columns} from approval where workspace_id = $1 and id = any($2) order by id for no key update`,
    [workspaceId, ids.filter((id) => !noForm.test(id))],
  );
  return rows.map(approvalFromRow);
}

/**
 * Locks the questions about one subject until the transaction ends, so that no two control planes ask about it at the
 * same time.
 */
export async function lockSubject(client: pg.PoolClient, workspaceId: number, originSub: string): Promise<void> {
  await client.query('select pg_advisory_xact_lock($1, hashtext($2))', [approvalLock, `${workspaceId} ${originSub}`]);
}

/** An arbitrary number. */
const approvalLock = 7_605_533;

/** Locks and returns the approval of this call that is not final. */
export async function lockOpen(client: pg.PoolClient, workspaceId: number, callHmac: Uint8Array): Promise<Approval | null> {
  const { rows } = await client.query<ApprovalRow>(
    `select ${columns} from approval where workspace_id = $1 and call_hmac = $2 and state in ('pending', 'approved') for no key update`,
    [workspaceId, callHmac],
  );
  return rows[0] === undefined ? null : approvalFromRow(rows[0]);
}

/** Returns the newest denial of this call that still answers it. */
export async function findDenial(db: Queryable, workspaceId: number, callHmac: Uint8Array): Promise<Approval | null> {
  const { rows } = await db.query<ApprovalRow>(
    `select ${columns} from approval where workspace_id = $1 and call_hmac = $2 and state = 'denied'
       and answered_at + make_interval(secs => valid_seconds) > clock_timestamp() order by answered_at desc limit 1`,
    [workspaceId, callHmac],
  );
  return rows[0] === undefined ? null : approvalFromRow(rows[0]);
}

interface SessionName {
  readonly keyId: string;
  readonly originSub: string;
  readonly sessionId: string;
}

/** Returns the approval whose denial answers any of these rules for the rest of the session. */
export async function findSessionDenial(
  db: Queryable,
  workspaceId: number,
  { keyId, originSub, sessionId }: SessionName,
  digests: readonly string[],
): Promise<Approval | null> {
  const { rows } = await db.query<ApprovalRow>(
    `select ${columns} from approval where workspace_id = $1 and id = (
       select approval_id from approval_session_denial
       where workspace_id = $1 and key_id = $2 and origin_sub = $3 and session_id = $4 and rule_digest = any($5) limit 1)`,
    [workspaceId, keyId, originSub, sessionId, digests],
  );
  return rows[0] === undefined ? null : approvalFromRow(rows[0]);
}

export async function insertSessionDenials(
  db: Queryable,
  { workspaceId, id }: ApprovalRef,
  { keyId, originSub, sessionId }: SessionName,
  digests: readonly string[],
): Promise<void> {
  await db.query(
    `insert into approval_session_denial (workspace_id, key_id, origin_sub, session_id, rule_digest, approval_id)
     select $1, $2, $3, $4, unnest($5::text[]), $6 on conflict do nothing`,
    [workspaceId, keyId, originSub, sessionId, digests, id],
  );
}

/** Locks and returns the pending approvals of the session that any of these rules asks for. */
export async function lockPendingOfSession(
  client: pg.PoolClient,
  workspaceId: number,
  { keyId, originSub, sessionId }: SessionName,
  digests: readonly string[],
): Promise<readonly Approval[]> {
  const { rows } = await client.query<ApprovalRow>(
    `select ${columns} from approval where workspace_id = $1 and session_id = $4 and key_id = $2 and origin_sub = $3 and state = 'pending'
       and rule_digests && $5::text[] order by id for no key update`,
    [workspaceId, keyId, originSub, sessionId, digests],
  );
  return rows.map(approvalFromRow);
}

export async function countForFatigue(
  db: Queryable,
  workspaceId: number,
  { originSub, sessionId, keyId }: SessionName,
): Promise<FatigueCounts> {
  const { rows } = await db.query<{ session_pending: number; session_hour: number; subject_pending: number; subject_bytes: string }>(
    `select
       (select count(*)::int from approval where workspace_id = $1 and session_id = $3 and origin_sub = $2 and key_id = $4
          and state = 'pending' and due_at > clock_timestamp()) as session_pending,
       (select count(*)::int from approval where workspace_id = $1 and session_id = $3 and origin_sub = $2 and key_id = $4
          and created_at > clock_timestamp() - interval '1 hour') as session_hour,
       (select count(*)::int from approval where workspace_id = $1 and origin_sub = $2
          and state = 'pending' and due_at > clock_timestamp()) as subject_pending,
       (select coalesce(sum(bytes), 0) from approval where workspace_id = $1 and origin_sub = $2
          and created_at > clock_timestamp() - interval '24 hours') as subject_bytes`,
    [workspaceId, originSub, sessionId, keyId],
  );
  const [row] = rows;
  return {
    sessionPending: row?.session_pending ?? 0,
    sessionAsksAnHour: row?.session_hour ?? 0,
    subjectPending: row?.subject_pending ?? 0,
    subjectBytes: Number(row?.subject_bytes ?? 0),
  };
}

/** How long calls that meet the same rules of a session join one question, in seconds, if they name no round. */
const roundSeconds = 10;

/** Returns the question that a call of this session joins; null: it begins one. */
export async function findQuestion(
  db: Queryable,
  workspaceId: number,
  { originSub, sessionId, keyId }: SessionName,
  { digests, roundId }: { readonly digests: readonly string[]; readonly roundId: string },
): Promise<string | null> {
  const { rows } = await db.query<{ question_id: string }>(
    `select q.question_id from approval q
     where q.workspace_id = $1 and q.session_id = $3 and q.origin_sub = $2 and q.key_id = $4 and q.state = 'pending'
       and q.due_at > clock_timestamp() and q.rule_digests = $5::text[]
       and ((q.round_id <> '' and q.round_id = $6)
         or (q.round_id = '' and $6 = '' and q.created_at > clock_timestamp() - make_interval(secs => $7)))
       and not exists (select 1 from approval other where other.workspace_id = $1 and other.question_id = q.question_id and other.state <> 'pending')
     order by q.created_at limit 1`,
    [workspaceId, originSub, sessionId, keyId, digests, roundId, roundSeconds],
  );
  return rows[0]?.question_id ?? null;
}

export interface NewApproval
  extends ApprovalRef,
    Pick<Approval, 'questionId' | 'call' | 'callHmac' | 'rules' | 'validSeconds' | 'uses' | 'need'> {
  readonly pendingSeconds: number;
  readonly digests: readonly string[];
  readonly approvers: readonly string[];
  readonly revision: RevisionName;
  readonly claimedClient: string;
  readonly roundId: string;
  readonly shownInput: string;
  readonly findings: Approval['findings'];
  readonly hidden: readonly HiddenPlace[];
  readonly sealed: Uint8Array | null;
  readonly bytes: number;
}

export async function insertApproval(db: Queryable, approval: NewApproval): Promise<Approval> {
  const { call } = approval;
  const { rows } = await db.query<ApprovalRow>(
    `insert into approval (workspace_id, id, question_id, state, created_at, changed_at, expires_at, due_at, key_id, origin_sub, session_id,
       agents, agent_type, tier, tool, rules, rule_digests, approvers, call_hmac, valid_seconds, uses, need, revision_epoch, revision,
       claimed_client, round_id, shown_input, findings, hidden, sealed, bytes)
     select $1, $2, $3, 'pending', now, now, now + make_interval(secs => $4), now + make_interval(secs => $4), $5, $6, $7, $8, $9, $10, $11,
       $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27
     from (select date_trunc('milliseconds', clock_timestamp()) as now) as clock
     returning ${columns}`,
    [
      approval.workspaceId,
      approval.id,
      approval.questionId,
      approval.pendingSeconds,
      call.keyId,
      call.originSub,
      call.sessionId,
      call.agents,
      call.agentType,
      call.tier,
      call.tool,
      JSON.stringify(approval.rules),
      approval.digests,
      approval.approvers,
      approval.callHmac,
      approval.validSeconds,
      approval.uses,
      approval.need,
      approval.revision.epoch,
      approval.revision.number,
      approval.claimedClient,
      approval.roundId,
      approval.shownInput,
      JSON.stringify(approval.findings),
      JSON.stringify(approval.hidden),
      approval.sealed,
      approval.bytes,
    ],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('an inserted approval must be returned, but the database returned no row');
  return approvalFromRow(row);
}

/** What a step changes. What is absent stays. */
export interface Changes {
  readonly state?: Approval['state'];
  readonly answeredBy?: string;
  readonly note?: string | null;
  /** The approval is answered now. */
  readonly answered?: true;
  /** From now on its uses may begin, for the time that its rules say. */
  readonly usable?: true;
  readonly revealedBy?: string;
}

/** Who makes a step. */
export interface StepBy {
  readonly sub: string;
  readonly keyId: string;
}

/** Time makes the step, or a sidecar whose key is that of the call. */
export const byTime: StepBy = { sub: '', keyId: '' };

/**
 * Makes a step: changes the row, which the caller has locked, records an event, and notifies what waits. If the approval
 * becomes final, what was sealed is erased. If the question has ended, messages say so. Returns the approval after the step.
 */
export async function recordStep(
  client: pg.PoolClient,
  { workspaceId, id }: ApprovalRef,
  action: string,
  by: StepBy,
  { state, answeredBy, note, answered, usable, revealedBy }: Changes = {},
  detail: Readonly<Record<string, unknown>> = {},
): Promise<Approval> {
  const { rows } = await client.query<ApprovalRow>(
    `with clock as (select date_trunc('milliseconds', clock_timestamp()) as now), changed as (
       update approval set
         version = version + 1,
         changed_at = clock.now,
         state = coalesce($3, state),
         answered_by = coalesce($4, answered_by),
         note = case when $5 then $6 else note end,
         answered_at = case when $7 then clock.now else answered_at end,
         usable_until = case when $8 then clock.now + make_interval(secs => valid_seconds) else usable_until end,
         due_at = case coalesce($3, state)
           when 'pending' then expires_at
           when 'approved' then case when $8 then clock.now + make_interval(secs => valid_seconds) else usable_until end
         end,
         sealed = case when coalesce($3, state) in ('pending', 'approved') then sealed end,
         revealed_by = case when $9::text is null or $9 = any(revealed_by) then revealed_by else revealed_by || $9::text end
       from clock where workspace_id = $1 and id = $2 returning ${columns}
     ), event as (
       insert into approval_event (workspace_id, approval_id, version, at, action, sub, key_id, detail)
       select workspace_id, id, version, changed_at, $10, $11, $12, $13::jsonb || jsonb_build_object('state', state) from changed
     )
     select changed.*, pg_notify($14, workspace_id || ':' || id) from changed`,
    [
      workspaceId,
      id,
      state ?? null,
      answeredBy ?? null,
      note !== undefined,
      note ?? null,
      answered === true,
      usable === true,
      revealedBy ?? null,
      action,
      by.sub,
      by.keyId,
      JSON.stringify(detail),
      approvalChannel,
    ],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('a step must change the approval that its transaction has locked, but changed no row');
  const after = approvalFromRow(row);
  const ended = endedBy(after, state, usable === true);
  if (ended !== null) await queueEnded(client, after, ended);
  return after;
}

/** How the step ended the question. Null: it did not, or the question had ended before. */
function endedBy(
  { usableUntil }: Approval,
  state: Approval['state'] | undefined,
  usable: boolean,
): 'approved' | 'denied' | 'expired' | 'cancelled' | null {
  if (usable) return 'approved';
  if (usableUntil !== null) return null;
  return state === 'denied' || state === 'expired' || state === 'cancelled' ? state : null;
}

/** Records the first event of an approval, stores the messages about it, and notifies what follows the list. */
export async function recordAsked(client: pg.PoolClient, approval: Approval, by: StepBy): Promise<void> {
  const { workspaceId, id } = approval;
  await queueAsked(client, approval);
  await client.query(
    `with event as (
       insert into approval_event (workspace_id, approval_id, version, at, action, sub, key_id, detail)
       select workspace_id, id, version, created_at, 'asked', $3, $4, '{"state": "pending"}' from approval where workspace_id = $1 and id = $2
     ) select pg_notify($5, $1::text || ':' || $2)`,
    [workspaceId, id, by.sub, by.keyId, approvalChannel],
  );
}

/** Locks approvals that time has ended, and that no other transaction works on. */
export async function lockDue(client: pg.PoolClient, limit: number): Promise<readonly Approval[]> {
  const { rows } = await client.query<ApprovalRow>(
    `select ${columns} from approval where due_at is not null and due_at <= clock_timestamp() order by due_at limit $1
     for no key update skip locked`,
    [limit],
  );
  return rows.map(approvalFromRow);
}

export interface ApprovalStep {
  readonly version: number;
  readonly at: Date;
  readonly action: string;
  readonly sub: string;
  readonly keyId: string;
  /** The state after the step as `state`, and what the step has more. */
  readonly detail: unknown;
}

/** Lists the steps of an approval, the oldest first, at most `limit`. */
export async function listSteps(db: Queryable, { workspaceId, id }: ApprovalRef, limit: number): Promise<readonly ApprovalStep[]> {
  const { rows } = await db.query<{ version: number; at: Date; action: string; sub: string; key_id: string; detail: unknown }>(
    `select version, at, action, sub, key_id, detail from approval_event where workspace_id = $1 and approval_id = $2
     order by version limit $3`,
    [workspaceId, id, limit],
  );
  return rows.map(({ key_id: keyId, ...row }) => ({ ...row, keyId }));
}

/** Deletes approvals that have been final for so many days. Returns how many there were, at most `limit`. */
export async function deleteOld(db: Queryable, days: number, limit: number): Promise<number> {
  const { rowCount } = await db.query(
    `delete from approval using (
       select workspace_id, id from approval where due_at is null and changed_at < clock_timestamp() - make_interval(days => $1) limit $2
     ) as old where approval.workspace_id = old.workspace_id and approval.id = old.id`,
    [days, limit],
  );
  return rowCount ?? 0;
}
