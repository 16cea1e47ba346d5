// Stores messages about approvals, and the jobs that send them. A message is stored in the transaction of the step that it
// reports, together with its job. The message says what is to be sent. A job says only that it is time to look at it, so a
// job that is lost is added again, and one that is run twice does no harm.
import type pg from 'pg';
import { rowIs } from '../../database/row.ts';
import type { Queryable } from '../../database/transaction.ts';
import type { Approval } from '../../approvals/rules/approval.ts';
import { channelBounds } from '../rules/channel.ts';
import { approvalBody, type Digest, type MessageType } from '../rules/message.ts';

/** The schema of graphile-worker. */
export const jobsSchema = 'tollgate_jobs';
/** The jobs that send messages. */
export const sendTask = 'send_approval_message';

export interface MessageRef {
  readonly workspaceId: number;
  readonly id: string;
}

const messageStates = ['waiting', 'sent', 'failed'] as const;
export type MessageState = (typeof messageStates)[number];
const isMessageState = (value: unknown): value is MessageState => messageStates.some((one) => one === value);
const messageKinds = ['asked', 'ended', 'digest'] as const;
type MessageKind = (typeof messageKinds)[number];
const isMessageKind = (value: unknown): value is MessageKind => messageKinds.some((one) => one === value);

/** An arbitrary number. */
const jobsLock = 7_605_539;

/** Runs `work` while no other process does: two of them must not make the schema of the jobs at the same time. */
export async function withJobsLock<T>(pool: pg.Pool, work: () => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [jobsLock]);
    return await work();
  } finally {
    // The lock ends with the connection.
    client.release(true);
  }
}

/** Adds the job of a message that waits, for the time of its next attempt. It replaces an earlier job of the message. */
export async function addJob(db: Queryable, { workspaceId, id }: MessageRef): Promise<void> {
  await db.query(
    `select from (
       select ${jobsSchema}.add_job($3, json_build_object('workspaceId', workspace_id, 'id', id), run_at => next_at, max_attempts => 1,
         job_key => workspace_id || ':' || id)
       from approval_message where workspace_id = $1 and id = $2 and next_at is not null
     ) as added`,
    [workspaceId, id, sendTask],
  );
}

const newId = `'msg_' || replace(gen_random_uuid()::text, '-', '')`;

async function slugOf(db: Queryable, workspaceId: number): Promise<string> {
  const { rows } = await db.query<{ slug: string }>('select slug from workspace where id = $1', [workspaceId]);
  return rows[0]?.slug ?? '';
}

/**
 * Stores the messages about a new approval: for the channels that its rules name, and for the default channels if a rule
 * names none that exists. Messages above the bound of a channel become one digest.
 */
export async function queueAsked(client: pg.PoolClient, approval: Approval): Promise<void> {
  const { workspaceId, rules } = approval;
  const named = [...new Set(rules.flatMap(({ terms }) => terms.channels ?? []))];
  // The channels stay locked, so that two asks do not both take the last place before a digest.
  const { rows: channels } = await client.query<{ name: string; is_default: boolean }>(
    `select name, is_default from approval_channel where workspace_id = $1 and (is_default or name = any($2)) order by name
     for no key update`,
    [workspaceId, named],
  );
  if (channels.length === 0) return;
  const there = new Set(channels.map(({ name }) => name));
  const needsDefault = rules.some(({ terms }) => !(terms.channels ?? []).some((name) => there.has(name)));
  const told = channels.filter(({ name, is_default: isDefault }) => named.includes(name) || (needsDefault && isDefault));
  if (told.length === 0) return;
  const body = approvalBody(await slugOf(client, workspaceId), approval, 'asked', approval.createdAt);
  const full = await fullChannels(
    client,
    workspaceId,
    told.map(({ name }) => name),
  );
  for (const { name } of told) {
    if (full.has(name)) await joinDigest(client, approval, name);
    else await insertMessage(client, approval, { channel: name, kind: 'asked', body });
  }
}

/** Returns those of the channels that have received as many messages as they may within the window. */
async function fullChannels(db: Queryable, workspaceId: number, names: readonly string[]): Promise<ReadonlySet<string>> {
  const { rows } = await db.query<{ channel: string }>(
    `select channel from approval_message where workspace_id = $1 and channel = any($2) and kind = 'asked'
       and created_at > clock_timestamp() - make_interval(secs => $3) group by channel having count(*) >= $4`,
    [workspaceId, names, channelBounds.windowSeconds, channelBounds.askedInWindow],
  );
  return new Set(rows.map(({ channel }) => channel));
}

interface NewMessage {
  readonly channel: string;
  readonly kind: Exclude<MessageKind, 'digest'>;
  readonly body: string;
}

async function insertMessage(db: Queryable, { workspaceId, id }: Approval, { channel, kind, body }: NewMessage): Promise<void> {
  const { rows } = await db.query<{ id: string }>(
    `insert into approval_message (workspace_id, id, channel, kind, approval_id, body, state, created_at, due_at, next_at)
     select $1, ${newId}, $2, $3, $4, $5, 'waiting', now, now, now from (select clock_timestamp() as now) as clock returning id`,
    [workspaceId, channel, kind, id, body],
  );
  for (const message of rows) await addJob(db, { workspaceId, id: message.id });
}

/** Adds the approval to the digest of the channel that still collects, or begins one. The channel is locked. */
async function joinDigest(db: Queryable, { workspaceId, id }: Approval, channel: string): Promise<void> {
  const { rowCount } = await db.query(
    `update approval_message set digest_count = digest_count + 1,
       digest_ids = case when cardinality(digest_ids) < $4 then digest_ids || $3::text else digest_ids end
     where workspace_id = $1 and channel = $2 and kind = 'digest' and state = 'waiting' and body is null`,
    [workspaceId, channel, id, channelBounds.digestNames],
  );
  if (rowCount !== 0) return;
  const { rows } = await db.query<{ id: string }>(
    `insert into approval_message (workspace_id, id, channel, kind, digest_ids, digest_count, state, created_at, due_at, next_at)
     select $1, ${newId}, $2, 'digest', array[$3::text], 1, 'waiting', now, due, due from (
       select now, greatest(now + make_interval(secs => $4), max(last.due_at) + make_interval(secs => $5)) as due
       from (select clock_timestamp() as now) as clock
       left join approval_message last on last.workspace_id = $1 and last.channel = $2 and last.kind = 'digest'
         and last.created_at > now - 2 * make_interval(secs => $5)
       group by now
     ) as planned returning id`,
    [workspaceId, channel, id, channelBounds.digestSeconds, channelBounds.windowSeconds],
  );
  for (const message of rows) await addJob(db, { workspaceId, id: message.id });
}

/** Stores the messages about the end of a question, for the channels that received a message about it. */
export async function queueEnded(client: pg.PoolClient, approval: Approval, type: Exclude<MessageType, 'asked'>): Promise<void> {
  const { workspaceId, id } = approval;
  const { rows } = await client.query<{ channel: string }>(
    `select channel from approval_message where workspace_id = $1 and approval_id = $2 and kind = 'asked' order by channel`,
    [workspaceId, id],
  );
  if (rows.length === 0) return;
  const body = approvalBody(await slugOf(client, workspaceId), approval, type, approval.changedAt);
  for (const { channel } of rows) await insertMessage(client, approval, { channel, kind: 'ended', body });
}

/** A message as a process that sends it sees it. */
export interface Outgoing extends MessageRef {
  readonly channel: string;
  readonly state: MessageState;
  /** Null: a digest that still collects. */
  readonly body: string | null;
  readonly digest: Digest;
  /** Attempts that were made, the present one not included. */
  readonly attempts: number;
  /** The next attempt is due, and no process makes one. */
  readonly isDue: boolean;
  readonly now: Date;
}

/** Locks the message until the transaction ends. Null: there is none. */
export async function lockMessage(client: pg.PoolClient, { workspaceId, id }: MessageRef): Promise<Outgoing | null> {
  await client.query('select from approval_message where workspace_id = $1 and id = $2 for no key update', [workspaceId, id]);
  const { rows } = await client.query<{
    channel: string;
    state: string;
    body: string | null;
    digest_ids: readonly string[];
    digest_count: number;
    created_at: Date;
    attempts: number;
    is_due: boolean;
    now: Date;
  }>(
    `select channel, state, body, digest_ids, digest_count, created_at, attempts, now,
       coalesce(next_at <= now and (leased_until is null or leased_until <= now), false) as is_due
     from approval_message, (select clock_timestamp() as now) as clock where workspace_id = $1 and id = $2`,
    [workspaceId, id],
  );
  const [row] = rows;
  if (row === undefined) return null;
  return {
    workspaceId,
    id,
    channel: row.channel,
    state: rowIs(isMessageState, row.state),
    body: row.body,
    digest: { ids: row.digest_ids, count: row.digest_count, since: row.created_at },
    attempts: row.attempts,
    isDue: row.is_due,
    now: row.now,
  };
}

/** From now on no other transaction begins an attempt of the workspace. */
export async function lockAttempts(client: pg.PoolClient, workspaceId: number): Promise<void> {
  await client.query('select pg_advisory_xact_lock($1, hashtext($2))', [attemptsLock, String(workspaceId)]);
}

/** An arbitrary number. */
const attemptsLock = 7_605_541;

/** Counts the attempts of the workspace that are in progress. */
export async function countAttempts(db: Queryable, workspaceId: number): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'select count(*)::int as count from approval_message where workspace_id = $1 and leased_until > clock_timestamp()',
    [workspaceId],
  );
  return rows[0]?.count ?? 0;
}

/** Begins an attempt: stores the text that is sent from now on, and that this process sends it for so many seconds. */
export async function beginAttempt(db: Queryable, { workspaceId, id }: MessageRef, body: string, leaseSeconds: number): Promise<void> {
  await db.query(
    `update approval_message set body = $3, attempts = attempts + 1, leased_until = clock_timestamp() + make_interval(secs => $4)
     where workspace_id = $1 and id = $2`,
    [workspaceId, id, body, leaseSeconds],
  );
}

/** Postpones the next attempt, and adds its job. `problem`: why the last attempt failed. */
export async function postpone(db: Queryable, ref: MessageRef, seconds: number, problem: string): Promise<void> {
  await db.query(
    `update approval_message set next_at = clock_timestamp() + make_interval(secs => $3), leased_until = null, problem = $4
     where workspace_id = $1 and id = $2 and state = 'waiting'`,
    [ref.workspaceId, ref.id, seconds, problem],
  );
  await addJob(db, ref);
}

/** Ends a message: it was sent, or has failed for good. */
export async function endMessage(
  db: Queryable,
  { workspaceId, id }: MessageRef,
  state: Exclude<MessageState, 'waiting'>,
  problem: string | null,
): Promise<void> {
  await db.query(
    `update approval_message set state = $3, next_at = null, leased_until = null, ended_at = clock_timestamp(), problem = $4
     where workspace_id = $1 and id = $2 and state = 'waiting'`,
    [workspaceId, id, state, problem],
  );
}

/** Sends a message again, from its first attempt on, with the same id. Returns its channel; null: there is no such message. */
export async function restartMessage(db: Queryable, ref: MessageRef): Promise<string | null> {
  const { rows } = await db.query<{ channel: string }>(
    `update approval_message set state = 'waiting', attempts = 0, next_at = clock_timestamp(), ended_at = null
     where workspace_id = $1 and id = $2 and (leased_until is null or leased_until <= clock_timestamp()) returning channel`,
    [ref.workspaceId, ref.id],
  );
  if (rows[0] !== undefined) await addJob(db, ref);
  return rows[0]?.channel ?? null;
}

const isFree = '(leased_until is null or leased_until <= clock_timestamp())';
// A receiver that fails must not delay messages that were not tried yet.
const leastTriedFirst = 'attempts, next_at, id';

/** Returns messages of the workspace that are due and that no process sends, those that were tried least first. */
export async function listDue(db: Queryable, workspaceId: number, limit: number): Promise<readonly MessageRef[]> {
  const { rows } = await db.query<{ id: string }>(
    `select id from approval_message where workspace_id = $1 and next_at <= clock_timestamp() and ${isFree}
     order by ${leastTriedFirst} limit $2`,
    [workspaceId, limit],
  );
  return rows.map(({ id }) => ({ workspaceId, id }));
}

/**
 * Returns messages whose attempt is overdue by so many seconds, and that no process sends: their job was lost. Of each
 * workspace at most `ofWorkspace`: when one of them was sent, the jobs of others are added.
 */
export async function listOverdue(
  db: Queryable,
  { seconds, ofWorkspace, limit }: { readonly seconds: number; readonly ofWorkspace: number; readonly limit: number },
): Promise<readonly MessageRef[]> {
  const { rows } = await db.query<{ workspace_id: string; id: string }>(
    `select workspace_id, id from (
       select workspace_id, id, row_number() over (partition by workspace_id order by ${leastTriedFirst}) as place
       from approval_message where next_at <= clock_timestamp() - make_interval(secs => $1) and ${isFree}
     ) as overdue where place <= $2 order by place limit $3`,
    [seconds, ofWorkspace, limit],
  );
  return rows.map((row) => ({ workspaceId: Number(row.workspace_id), id: row.id }));
}

/** Deletes messages that ended so many days ago. Returns how many, at most `limit`. */
export async function deleteOldMessages(db: Queryable, days: number, limit: number): Promise<number> {
  const { rowCount } = await db.query(
    `delete from approval_message using (
       select workspace_id, id from approval_message where ended_at < clock_timestamp() - make_interval(days => $1) limit $2
     ) as old where approval_message.workspace_id = old.workspace_id and approval_message.id = old.id`,
    [days, limit],
  );
  return rowCount ?? 0;
}

/** Deletes jobs that will not run again: their process was killed, or the database did not answer it. */
export async function deleteDeadJobs(db: Queryable): Promise<void> {
  await db.query(
    `select count(*) from ${jobsSchema}.complete_jobs(array(
       select id from ${jobsSchema}.jobs where locked_at is null and attempts >= max_attempts order by id limit 1000))`,
  );
}

/** Counts the messages of all workspaces that wait, and those that failed. */
export async function countMessages(db: Queryable): Promise<{ readonly waiting: number; readonly failed: number }> {
  const { rows } = await db.query<{ waiting: number; failed: number }>(
    `select (select count(*)::int from approval_message where next_at is not null) as waiting,
       (select count(*)::int from approval_message where ended_at is not null and state = 'failed') as failed`,
  );
  return rows[0] ?? { waiting: 0, failed: 0 };
}

/** A message as people see it. */
export interface ShownMessage {
  readonly id: string;
  readonly channel: string;
  readonly kind: MessageKind;
  readonly approvalId: string | null;
  readonly state: MessageState;
  readonly createdAt: Date;
  readonly nextAt: Date | null;
  readonly endedAt: Date | null;
  readonly attempts: number;
  readonly problem: string | null;
}

export interface MessagePlace {
  /** In µs since 1970. */
  readonly createdUs: string;
  readonly id: string;
}

/** Lists messages, newest first. `before`: only those before this place. */
export async function listMessages(
  db: Queryable,
  workspaceId: number,
  {
    state,
    channel,
    before,
    limit,
  }: {
    readonly state: MessageState | undefined;
    readonly channel: string | undefined;
    readonly before: MessagePlace | null;
    readonly limit: number;
  },
): Promise<readonly (ShownMessage & { readonly place: MessagePlace })[]> {
  const { rows } = await db.query<{
    id: string;
    channel: string;
    kind: string;
    approval_id: string | null;
    state: string;
    created_at: Date;
    next_at: Date | null;
    ended_at: Date | null;
    attempts: number;
    problem: string | null;
    us: string;
  }>(
    `select id, channel, kind, approval_id, state, created_at, next_at, ended_at, attempts, problem,
       (extract(epoch from created_at) * 1000000)::bigint as us
     from approval_message where workspace_id = $1 and ($2::text is null or state = $2) and ($3::text is null or channel = $3)
       and ($4::bigint is null or (created_at, id) < (timestamptz 'epoch' + $4::bigint * interval '1 microsecond', $5::text collate "C"))
     order by created_at desc, id desc limit $6`,
    [workspaceId, state, channel, before?.createdUs, before?.id, limit],
  );
  return rows.map((row) => ({
    id: row.id,
    channel: row.channel,
    kind: rowIs(isMessageKind, row.kind),
    approvalId: row.approval_id,
    state: rowIs(isMessageState, row.state),
    createdAt: row.created_at,
    nextAt: row.next_at,
    endedAt: row.ended_at,
    attempts: row.attempts,
    problem: row.problem,
    place: { createdUs: row.us, id: row.id },
  }));
}
