// Stores the cursors of the export to a collector, one for each workspace, and the lease of the control plane that
// sends. A cursor moves only if it is still at the position that was read. Therefore, if two control planes send at the
// same time, one of them notices that the other has moved the cursor. All times are from the database's clock.
import type pg from 'pg';
import { originOf } from '@tollgate/proto/chain';
import { queryPatiently } from '../../database/patience.ts';
import type { Queryable } from '../../database/transaction.ts';

/** A log with items beyond its cursor. */
export interface BehindLog {
  readonly workspaceId: number;
  readonly slug: string;
  readonly logId: string;
  readonly origin: string;
  /** The number of items so far. */
  readonly head: number;
  readonly beginsAfter: number;
  readonly keptAfter: number;
  /** The chain value after `keptAfter` if a checkpoint contains it. */
  readonly keptChain: string | null;
  /** The stored position; null: there is no cursor. */
  readonly stored: number | null;
  /** Continue after this position. Null: start from the beginning, because there is no cursor of this log. */
  readonly position: number | null;
  /** The chain value at `position`. */
  readonly chain: string | null;
}

interface BehindRow {
  readonly workspace_id: string;
  readonly slug: string;
  readonly log_id: string;
  readonly ingest: string;
  readonly begins_after: string;
  readonly kept_after: string;
  readonly kept_chain: string | null;
  readonly stored: string | null;
  readonly position: string | null;
  readonly chain: string | null;
}

// If a cursor is beyond the end of the log, the log was rolled back.
const isOfLog = `done.log_id = head.log_id and done.position <= head.ingest`;

const exportedUpTo = `coalesce(case when ${isOfLog} then done.position end, 0)`;

const selectLogs = `select head.workspace_id, slug, head.log_id, ingest, begins_after, kept_after, done.position as stored,
       case when ${isOfLog} then done.position end as position, encode(case when ${isOfLog} then done.chain end, 'hex') as chain,
       (select encode(one.chain, 'hex') from audit_checkpoint one
        where one.workspace_id = head.workspace_id and size = kept_after and kept_after > begins_after) as kept_chain
     from audit_head head join workspace on workspace.id = head.workspace_id left join audit_export done using (workspace_id)`;

/** Returns logs with items beyond their cursor. The log whose last export is the oldest comes first. */
export async function listBehind(db: Queryable, except: readonly number[], limit: number): Promise<readonly BehindLog[]> {
  const { rows } = await db.query<BehindRow>(
    `${selectLogs} where ingest > 0 and (coalesce(done.position, 0) <> ingest or done.log_id <> head.log_id) and head.workspace_id <> all($1)
     order by done.exported_at nulls first, head.workspace_id limit $2`,
    [except, limit],
  );
  return rows.map(behindFromRow);
}

/** Reads the present state of the log; null: it no longer exists. */
export async function findLog(db: Queryable, { workspaceId, logId }: Pick<BehindLog, 'workspaceId' | 'logId'>): Promise<BehindLog | null> {
  const { rows } = await db.query<BehindRow>(`${selectLogs} where head.workspace_id = $1 and head.log_id = $2`, [workspaceId, logId]);
  return rows[0] === undefined ? null : behindFromRow(rows[0]);
}

const numberOrNull = (value: string | null): number | null => (value === null ? null : Number(value));

const behindFromRow = (row: BehindRow): BehindLog => ({
  workspaceId: Number(row.workspace_id),
  slug: row.slug,
  logId: row.log_id,
  origin: originOf(row.slug, row.log_id),
  head: Number(row.ingest),
  beginsAfter: Number(row.begins_after),
  keptAfter: Number(row.kept_after),
  keptChain: row.kept_chain,
  stored: numberOrNull(row.stored),
  position: numberOrNull(row.position),
  chain: row.chain,
});

interface Advance {
  /** The position that was read; null: there was no cursor. */
  readonly from: number | null;
  readonly position: number;
  readonly chain: string | null;
  readonly lost: number;
  readonly rejected: number;
}

/** Moves the cursor. Returns false if the cursor is no longer at `from`, or if the log no longer exists. */
export async function advanceCursor(
  db: Queryable,
  { workspaceId, logId }: Pick<BehindLog, 'workspaceId' | 'logId'>,
  { from, position, chain, lost, rejected }: Advance,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into audit_export as done (workspace_id, log_id, position, chain, lost, rejected, exported_at)
     select workspace_id, log_id, $4, decode($5, 'hex'), $6, $7, clock_timestamp() from audit_head head
     where workspace_id = $1 and log_id = $2
       and ($3::bigint is null or exists (select from audit_export there where there.workspace_id = head.workspace_id))
     on conflict (workspace_id) do update set log_id = excluded.log_id, position = excluded.position, chain = excluded.chain,
       lost = done.lost + excluded.lost, rejected = done.rejected + excluded.rejected, exported_at = excluded.exported_at
     where done.position = $3`,
    [workspaceId, logId, from, position, chain, lost, rejected],
  );
  return rowCount === 1;
}

/**
 * Returns true while `holder` holds the lease. The lease can be taken if it is free, or if its holder has not renewed
 * it for `leaseMs`.
 */
export async function takeExportLease(db: Queryable, holder: string, leaseMs: number): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into audit_export_lease as lease (holder, until) values ($1, clock_timestamp() + $2 * interval '1 millisecond')
     on conflict (one) do update set holder = excluded.holder, until = excluded.until
     where lease.holder = excluded.holder or lease.until < clock_timestamp()`,
    [holder, leaseMs],
  );
  return rowCount === 1;
}

export async function releaseExportLease(db: Queryable, holder: string): Promise<void> {
  await db.query('delete from audit_export_lease where holder = $1', [holder]);
}

/** Returns whether any control plane exports. */
export async function isExportLeased(db: Queryable): Promise<boolean> {
  const { rowCount } = await db.query('select from audit_export_lease where until > clock_timestamp()');
  return rowCount === 1;
}

export interface ExportLag {
  readonly records: number;
  /** When the oldest unsent entry arrived; null: there are no unsent entries. */
  readonly since: Date | null;
}

/**
 * The number of workspaces in which the oldest unsent entry is searched. Workspaces that have waited longest come
 * first.
 */
const lookedAt = 20;

export async function readExportLag(pool: pg.Pool): Promise<ExportLag> {
  const rows = await queryPatiently<{ records: string; since: Date | null }>(pool, {
    text: `with behind as (
       select workspace_id, greatest(${exportedUpTo}, kept_after) as position, ingest, exported_at
       from audit_head head left join audit_export done using (workspace_id)
       where coalesce(done.position, 0) <> ingest or done.log_id <> head.log_id)
     select (select coalesce(sum(ingest - position), 0) from behind) as records,
       (select min(received_at) from (select * from behind order by exported_at nulls first, workspace_id limit ${lookedAt}) one
        cross join lateral (
          select received_at from audit_entry entry
          where entry.workspace_id = one.workspace_id and entry.ingest > one.position order by entry.ingest limit 1) oldest) as since`,
    values: [],
  });
  return { records: Number(rows[0]?.records ?? 0), since: rows[0]?.since ?? null };
}

/** Returns whether there are unsent entries that were decided in this span of time. */
export async function hasUnexported(db: Queryable, from: Date, until: Date): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>(
    `select exists (select from audit_head head left join audit_export done using (workspace_id) where exists (
       select from audit_entry entry where entry.workspace_id = head.workspace_id and entry.ingest > ${exportedUpTo}
         and ts >= $1 and ts < $2)) as found`,
    [from, until],
  );
  return rows[0]?.found === true;
}

/** Returns when the oldest unsent gap arrived, or null if no unsent gap arrived before `until`. */
export async function findUnexportedGap(db: Queryable, until: Date): Promise<Date | null> {
  const { rows } = await db.query<{ at: Date | null }>(
    `select min(received_at) as at from audit_gap gap join audit_head head using (workspace_id) left join audit_export done using (workspace_id)
     where gap.ingest > ${exportedUpTo} and received_at < $1`,
    [until],
  );
  return rows[0]?.at ?? null;
}
