// Stores runs that wait for persons. The row of the run must be locked before a row of `run_wait` is changed.
import type { RunRef, ToldProgress } from '../rules/run.ts';
import type { Queryable } from '../../database/transaction.ts';
import { isLive } from './run-instances.ts';

export interface StoredWait {
  readonly waitId: string;
  readonly approvalIds: readonly string[];
  /** The instance whose client reads the events; null: none. */
  readonly reader: string | null;
  readonly sealed: Uint8Array;
}

/** Stores that the running run waits. */
export async function putWait(db: Queryable, { workspaceId, id }: RunRef, wait: StoredWait, progress: ToldProgress): Promise<void> {
  const { waitId, approvalIds, reader, sealed } = wait;
  const { rounds, toolCalls, promptTokens, completionTokens, transcript } = progress;
  await db.query(
    `insert into run_wait (workspace_id, run_id, wait_id, approval_ids, reader, sealed, since)
     values ($1, $2, $3, $4, $5, $6, clock_timestamp())
     on conflict (workspace_id, run_id) do update set wait_id = excluded.wait_id, approval_ids = excluded.approval_ids,
       reader = excluded.reader, sealed = excluded.sealed, since = excluded.since`,
    [workspaceId, id, waitId, approvalIds, reader, sealed],
  );
  await db.query(
    `update run set status = 'waiting', rounds = $3, tool_calls = $4, prompt_tokens = $5, completion_tokens = $6, transcript = $7
     where workspace_id = $1 and id = $2 and status = 'running'`,
    [workspaceId, id, rounds, toolCalls, promptTokens, completionTokens, JSON.stringify(transcript)],
  );
}

/** Returns what is stored for this wait. Null: a later wait of the run, or its end, has replaced it. */
export async function findWait(
  db: Queryable,
  { workspaceId, id }: RunRef,
  waitId: string,
): Promise<{ readonly sealed: Uint8Array | null } | null> {
  const { rows } = await db.query<{ sealed: Buffer | null }>(
    'select sealed from run_wait where workspace_id = $1 and run_id = $2 and wait_id = $3',
    [workspaceId, id, waitId],
  );
  return rows[0] ?? null;
}

/**
 * Erases what a resumed run was resumed from, so that it cannot be resumed from there again. The row stays until the run
 * ends, because it names the approvals of the run.
 */
export async function eraseStoredRun(db: Queryable, { workspaceId, id }: RunRef): Promise<void> {
  await db.query('update run_wait set sealed = null where workspace_id = $1 and run_id = $2', [workspaceId, id]);
}

/** Deletes the wait of a run that has ended. Returns the approvals that it waited for. */
export async function deleteWait(db: Queryable, { workspaceId, id }: RunRef): Promise<readonly string[]> {
  const { rows } = await db.query<{ approval_ids: readonly string[] }>(
    'delete from run_wait where workspace_id = $1 and run_id = $2 returning approval_ids',
    [workspaceId, id],
  );
  return rows[0]?.approval_ids ?? [];
}

/** A run that waits no longer, and may be resumed. */
export interface DueRun extends RunRef {
  readonly waitId: string;
}

/**
 * Lists the waiting runs that can continue or must end: a question was answered or its time is over, the run was cancelled,
 * or its workspace is frozen. The one that has waited longest comes first, but each workspace has its first run before
 * any other has its second: the runs of one that has no free place must not hide those of others. A run whose events are
 * read at another live instance is left to it.
 */
export async function listDue(db: Queryable, instance: string, silenceMs: number, limit: number): Promise<readonly DueRun[]> {
  const { rows } = await db.query<{ workspace_id: string; run_id: string; wait_id: string }>(
    `select wait.workspace_id, wait.run_id, wait.wait_id
     from run_wait wait
     join run on run.workspace_id = wait.workspace_id and run.id = wait.run_id
     join workspace on workspace.id = wait.workspace_id
     where run.status = 'waiting'
       and (run.cancel_requested_at is not null or workspace.frozen or exists (
         select 1 from unnest(wait.approval_ids) as awaited(id)
         left join approval on approval.workspace_id = wait.workspace_id and approval.id = awaited.id
         where approval.id is null or approval.state <> 'pending' or approval.due_at <= clock_timestamp()))
       and (wait.reader is null or wait.reader = $1 or wait.reader not in (select id from run_instance where ${isLive('$2')}))
     order by row_number() over (partition by wait.workspace_id order by wait.since), wait.since limit $3`,
    [instance, silenceMs, limit],
  );
  return rows.map((row) => ({ workspaceId: Number(row.workspace_id), id: row.run_id, waitId: row.wait_id }));
}

/** A run that was taken. Its state is `running` now, at the instance that took it. */
export interface TakenRow {
  readonly slug: string;
  readonly revision: number;
  readonly generation: number;
  readonly model: string;
  readonly isCancelled: boolean;
  readonly sealed: Uint8Array | null;
}

/** Takes a waiting run, if it still waits as `due` says. Null: it does not, or another instance takes it now. */
export async function takeDue(db: Queryable, { workspaceId, id, waitId }: DueRun, instance: string): Promise<TakenRow | null> {
  const locked = await db.query(`select 1 from run where workspace_id = $1 and id = $2 and status = 'waiting' for update skip locked`, [
    workspaceId,
    id,
  ]);
  if (locked.rows.length === 0) return null;
  const { rows } = await db.query<{
    slug: string;
    revision: string;
    generation: number;
    model: string;
    cancelled: boolean;
    sealed: Buffer | null;
  }>(
    `update run set status = 'running', instance = $4, generation = run.generation + 1
     from run_wait wait, workspace
     where run.workspace_id = $1 and run.id = $2 and run.status = 'waiting'
       and wait.workspace_id = run.workspace_id and wait.run_id = run.id and wait.wait_id = $3 and workspace.id = run.workspace_id
     returning workspace.slug, workspace.revision, run.generation, run.model, run.cancel_requested_at is not null as cancelled, wait.sealed`,
    [workspaceId, id, waitId, instance],
  );
  const [row] = rows;
  if (row === undefined) return null;
  const { slug, revision, generation, model, cancelled: isCancelled, sealed } = row;
  return { slug, revision: Number(revision), generation, model, isCancelled, sealed };
}

/**
 * Lets a running run wait again that was resumed and has done nothing since. The run must be locked. Returns false if it has
 * made a call or asked its model, so that it cannot be resumed again.
 */
export async function waitAgain(db: Queryable, { workspaceId, id }: RunRef): Promise<boolean> {
  const { rowCount } = await db.query(
    `update run set status = 'waiting' from run_wait wait
     where run.workspace_id = $1 and run.id = $2 and run.status = 'running'
       and wait.workspace_id = run.workspace_id and wait.run_id = run.id and wait.sealed is not null`,
    [workspaceId, id],
  );
  return rowCount === 1;
}

/** From now on every instance may resume the runs whose events were read at this one. */
export async function releaseReader(db: Queryable, instance: string): Promise<void> {
  await db.query('update run_wait set reader = null where reader = $1', [instance]);
}

/** Of these runs, those that no longer wait. `isRunning`: another instance has resumed it. Otherwise it has ended. */
export async function listNotWaiting(
  db: Queryable,
  runs: readonly RunRef[],
): Promise<readonly (RunRef & { readonly isRunning: boolean })[]> {
  if (runs.length === 0) return [];
  const { rows } = await db.query<{ workspace_id: string; id: string; running: boolean }>(
    `select asked.workspace_id, asked.id, coalesce(run.status = 'running', false) as running from unnest($1::bigint[], $2::text[]) as asked(workspace_id, id)
     left join run on run.workspace_id = asked.workspace_id and run.id = asked.id
     where run.id is null or run.status <> 'waiting'`,
    [runs.map(({ workspaceId }) => workspaceId), runs.map(({ id }) => id)],
  );
  return rows.map((row) => ({ workspaceId: Number(row.workspace_id), id: row.id, isRunning: row.running }));
}

/**
 * Ends as failed those waiting runs of which a question was answered or is gone. `error`: why. They have no open
 * reservations. Runs whose questions are all pending continue to wait.
 */
export async function endAnsweredRuns(db: Queryable, error: string): Promise<void> {
  await db.query(
    `with ended as (
       update run set status = 'failed', error = $1, ended_at = greatest(clock_timestamp(), started_at)
       from run_wait wait
       where run.status = 'waiting' and wait.workspace_id = run.workspace_id and wait.run_id = run.id and exists (
         select 1 from unnest(wait.approval_ids) as awaited(id)
         left join approval on approval.workspace_id = wait.workspace_id and approval.id = awaited.id
         where approval.id is null or approval.state <> 'pending')
       returning run.workspace_id, run.id
     )
     delete from run_wait using ended where run_wait.workspace_id = ended.workspace_id and run_wait.run_id = ended.id`,
    [error],
  );
}

export async function countWaitingRuns(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `select count(*)::int as count from run_wait wait join run on run.workspace_id = wait.workspace_id and run.id = wait.run_id
     where run.status = 'waiting'`,
  );
  return rows[0]?.count ?? 0;
}
