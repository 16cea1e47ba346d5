// Removes what is out of retention and keeps what the chain needs. Exports begin at a checkpoint before everything that
// is kept. If items after this checkpoint are dropped, their time and digest are kept.
import type pg from 'pg';
import { retireDayText } from './partitions.ts';
import { patientQuery, type Queryable } from '../../database/transaction.ts';

/** Returns the number of items of each log, by workspace id, as JSON. */
export async function readHeadsAsJson(db: Queryable): Promise<string> {
  const { rows } = await db.query<{ heads: string }>(
    `select coalesce(jsonb_object_agg(workspace_id, ingest), '{}')::text as heads from audit_head`,
  );
  return rows[0]?.heads ?? '{}';
}

/** Maximum time for a day with many late entries. */
const retireMs = 10 * 60_000;

/**
 * Retires the entries of a day: keeps their time and digest in `audit_retired`. `beyond`: only entries after these
 * numbers, by workspace.
 */
export async function retireDay(client: pg.PoolClient, day: string, beyond = '{}'): Promise<void> {
  await client.query(`set local statement_timeout = ${retireMs}`);
  await client.query(patientQuery(retireDayText(day), [beyond], retireMs));
}

/**
 * Moves the start of each log's exports to the newest checkpoint that was made before `instant`. The checkpoint must
 * also be before every entry from `keptFrom` on.
 */
export async function advanceKeptAfter(db: Queryable, instant: Date, keptFrom: Date): Promise<void> {
  await db.query(
    patientQuery(
      `update audit_head head set kept_after = later.size
       from (
         select workspace_id, (
           select max(size) from audit_checkpoint one
           where one.workspace_id = head.workspace_id and made_at < $1 and size < coalesce(
             (select min(entry.ingest) from audit_entry entry where entry.workspace_id = head.workspace_id and ts >= $2),
             ${Number.MAX_SAFE_INTEGER})
         ) as size from audit_head head
       ) later
       where later.workspace_id = head.workspace_id and later.size > head.kept_after`,
      [instant, keptFrom],
    ),
  );
}

/**
 * Deletes retired items and checkpoints before the start of exports. A gap before the start of exports is deleted only
 * if it also arrived before `instant`.
 */
export async function deleteBeforeKept(db: Queryable, instant: Date): Promise<void> {
  const before = 'using audit_head head where head.workspace_id = one.workspace_id and';
  await db.query(patientQuery(`delete from audit_retired one ${before} one.ingest <= kept_after`, []));
  await db.query(patientQuery(`delete from audit_checkpoint one ${before} size < kept_after`, []));
  await db.query(patientQuery(`delete from audit_gap one ${before} coalesce(one.ingest, 0) <= kept_after and received_at < $1`, [instant]));
}

/**
 * Deletes spools that have sent nothing since `instant`. If such a spool sent records later, they would count as new.
 */
export async function deleteSpoolsBefore(db: Queryable, instant: Date): Promise<void> {
  await db.query(
    patientQuery(
      `with gone as (delete from audit_stream where seen_at < $1 returning workspace_id, spool_id)
       delete from audit_sent using gone where audit_sent.workspace_id = gone.workspace_id and audit_sent.spool_id = gone.spool_id`,
      [instant],
    ),
  );
}
