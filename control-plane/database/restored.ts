// Resets what a restored copy of a database must not use, and marks it as restored.
import type { Queryable } from './transaction.ts';

export interface RestoredState {
  readonly workspaces: number;
  /** Spools of sidecars that may have sent more than the copy contains. */
  readonly spools: number;
  /** Shared limits whose counts were from the time of the copy. */
  readonly counters: number;
}

/**
 * Grants that were made after the copy was taken are unknown to it. They expire after two seconds at most, so their
 * counters start again from zero. What a spool sent after the copy is recorded as a gap of its own kind.
 */
export async function markRestored(db: Queryable): Promise<RestoredState> {
  const { rows } = await db.query<{ workspaces: string; spools: string; counters: string }>(
    `with spool as (update audit_stream set restored = true returning 1), counter as (delete from quota_counter returning 1)
     select (select count(*) from workspace) as workspaces, (select count(*) from spool) as spools, (select count(*) from counter) as counters`,
  );
  return { workspaces: Number(rows[0]?.workspaces), spools: Number(rows[0]?.spools), counters: Number(rows[0]?.counters) };
}
