// Resets the data that a restored copy of a database must not use, and marks the copy as restored.
import type { Queryable } from './transaction.ts';

export interface RestoredState {
  readonly workspaces: number;
  /** The number of spools. Their sidecars may have sent more than the copy contains. */
  readonly spools: number;
  /** The number of shared limits that were reset, because their counts were from the time of the copy. */
  readonly counters: number;
}

/**
 * Marks all spools as restored, and deletes all counters of shared limits. The copy does not know the grants that were
 * made after it was taken. These grants expire after at most two seconds, so the counters can start again from zero.
 * Records that a spool sent after the copy was taken are recorded as a gap with a reason of its own. Approvals that the
 * copy shows as approved expire, because their uses after the copy was taken are not known.
 */
export async function markRestored(db: Queryable): Promise<RestoredState> {
  const { rows } = await db.query<{ workspaces: string; spools: string; counters: string }>(
    `with spool as (update audit_stream set restored = true returning 1), counter as (delete from quota_counter returning 1),
     approved as (
       update approval set state = 'expired', due_at = null, sealed = null, version = version + 1, changed_at = clock_timestamp()
       where state = 'approved' returning workspace_id, id, version, changed_at
     ), event as (
       insert into approval_event (workspace_id, approval_id, version, at, action, sub, key_id, detail)
       select workspace_id, id, version, changed_at, 'expired', '', '', '{"state": "expired", "why": "the database was restored"}' from approved
     )
     select (select count(*) from workspace) as workspaces, (select count(*) from spool) as spools, (select count(*) from counter) as counters`,
  );
  return { workspaces: Number(rows[0]?.workspaces), spools: Number(rows[0]?.spools), counters: Number(rows[0]?.counters) };
}
