// Stores the heartbeats of the control planes that run agents. From them it finds which instances are live, which runs
// must stop, and which runs were abandoned. All times are from the database's clock, which all control planes share.
import { capabilities } from '@tollgate/proto/contract';
import type { RunHalt, RunRef } from '../rules/run.ts';
import type { Queryable } from '../../database/transaction.ts';

export const isLive = (silenceMs: string): string => `heartbeat_at > clock_timestamp() - ${silenceMs} * interval '1 millisecond'`;

export async function beat(db: Queryable, instance: string): Promise<void> {
  await db.query(
    `insert into run_instance (id, heartbeat_at, capabilities) values ($1, clock_timestamp(), $2)
     on conflict (id) do update set heartbeat_at = excluded.heartbeat_at`,
    [instance, capabilities],
  );
}

/** Returns the number of live instances that lack at least one of the capabilities in `needs`. */
export async function countLackingInstances(db: Queryable, needs: readonly string[], silenceMs: number): Promise<number> {
  const { rows } = await db.query<{ count: string }>(
    `select count(*) from run_instance where ${isLive('$2')} and not capabilities @> $1::text[]`,
    [needs, silenceMs],
  );
  return Number(rows[0]?.count);
}

export async function deleteInstance(db: Queryable, instance: string): Promise<void> {
  await db.query('delete from run_instance where id = $1', [instance]);
}

/** Returns the time of the last heartbeat of each instance, in ms since 1970, by the database's clock. */
export async function listHeartbeats(db: Queryable): Promise<ReadonlyMap<string, number>> {
  const { rows } = await db.query<{ id: string; heartbeat_at: Date }>('select id, heartbeat_at from run_instance');
  return new Map(rows.map((row) => [row.id, row.heartbeat_at.getTime()]));
}

/**
 * Returns the runs of this instance that must stop. A run that was deleted with its workspace, or that another instance has
 * resumed, counts as ended.
 */
export async function findHalts(
  db: Queryable,
  instance: string,
  runs: readonly RunRef[],
): Promise<readonly (RunRef & { readonly why: RunHalt })[]> {
  if (runs.length === 0) return [];
  const { rows } = await db.query<{ workspace_id: string; id: string; cancelled: boolean }>(
    `select asked.workspace_id, asked.id, coalesce(run.status = 'running' and run.instance = $3, false) as cancelled
     from unnest($1::bigint[], $2::text[]) as asked(workspace_id, id)
     left join run on run.workspace_id = asked.workspace_id and run.id = asked.id
     where run.id is null or run.status <> 'running' or run.instance <> $3 or run.cancel_requested_at is not null`,
    [runs.map(({ workspaceId }) => workspaceId), runs.map(({ id }) => id), instance],
  );
  return rows.map((row) => ({ workspaceId: Number(row.workspace_id), id: row.id, why: row.cancelled ? 'cancelled' : 'ended' }));
}

/** Returns runs that are recorded as running although their control plane has sent no heartbeat for `silenceMs`. */
export async function findOrphans(db: Queryable, silenceMs: number, limit: number): Promise<readonly RunRef[]> {
  const { rows } = await db.query<{ workspace_id: string; id: string }>(
    `select workspace_id, id from run where status = 'running'
       and instance not in (select id from run_instance where ${isLive('$1')}) limit $2`,
    [silenceMs, limit],
  );
  return rows.map((row) => ({ workspaceId: Number(row.workspace_id), id: row.id }));
}

/** Runs of the instance that are recorded as running. */
export async function findRunsOf(db: Queryable, instance: string): Promise<readonly RunRef[]> {
  const { rows } = await db.query<{ workspace_id: string; id: string }>(
    "select workspace_id, id from run where status = 'running' and instance = $1",
    [instance],
  );
  return rows.map((row) => ({ workspaceId: Number(row.workspace_id), id: row.id }));
}

/**
 * Whether the run is recorded as running although its control plane has sent no heartbeat for `silenceMs`. It is called
 * after the run is locked.
 */
export async function isOrphan(db: Queryable, { workspaceId, id }: RunRef, silenceMs: number): Promise<boolean> {
  const { rows } = await db.query(
    `select 1 from run where workspace_id = $1 and id = $2 and status = 'running'
       and instance not in (select id from run_instance where ${isLive('$3')})`,
    [workspaceId, id, silenceMs],
  );
  return rows.length > 0;
}

/** Deletes instances that have sent no heartbeat for `silenceMs` and have no running runs. */
export async function deleteSilentInstances(db: Queryable, silenceMs: number): Promise<void> {
  await db.query(
    `delete from run_instance where not (${isLive('$1')})
       and not exists (select 1 from run where run.instance = run_instance.id and status = 'running')`,
    [silenceMs],
  );
}
