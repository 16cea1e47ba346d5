// What a restored copy of a database must forget, or know of itself.
import type { Queryable } from './transaction.ts';

export interface Restored {
  readonly workspaces: number;
  /** Spools of sidecars that may have brought more than the copy holds. */
  readonly spools: number;
  /** Shared limits whose counts were of the time of the copy. */
  readonly counters: number;
}

/**
 * Grants that were made since the copy was taken are unknown to it, and live for two seconds at most: their counters begin anew.
 * What a spool brought since then is a gap of its own kind.
 */
export async function markRestored(db: Queryable): Promise<Restored> {
  const { rows } = await db.query<{ workspaces: string; spools: string; counters: string }>(
    `with spool as (update audit_stream set restored = true returning 1), counter as (delete from quota_counter returning 1)
     select (select count(*) from workspace) as workspaces, (select count(*) from spool) as spools, (select count(*) from counter) as counters`,
  );
  return { workspaces: Number(rows[0]?.workspaces), spools: Number(rows[0]?.spools), counters: Number(rows[0]?.counters) };
}
