// What goes out of retention leaves as much as the chain needs: exports begin at a checkpoint before all that is kept, and
// of what was dropped after it its time and digest stay.
import type pg from 'pg';
import { retireDayText } from './partitions.ts';
import { patientQuery, type Queryable } from './transaction.ts';

/** By workspace id, as JSON: the items that each log holds. */
export async function readHeadsAsJson(db: Queryable): Promise<string> {
  const { rows } = await db.query<{ heads: string }>(
    `select coalesce(jsonb_object_agg(workspace_id, ingest), '{}')::text as heads from audit_head`,
  );
  return rows[0]?.heads ?? '{}';
}

/** Waits at most so long for a day of many late entries. */
const retireMs = 10 * 60_000;

/** Beforehand, while everybody goes on: nearly all of it. `beyond`: only items after these, by workspace. */
export async function retireDay(client: pg.PoolClient, day: string, beyond = '{}'): Promise<void> {
  await client.query(`set local statement_timeout = ${retireMs}`);
  await client.query(patientQuery(retireDayText(day), [beyond], retireMs));
}

/**
 * Lets each log's exports begin at the newest checkpoint that was made before `instant` and before all that is kept from
 * `keptFrom` on.
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

/** What lies before the place where exports begin; gaps and spools not before they are out of retention themselves. */
export async function deleteBeforeKept(db: Queryable, instant: Date): Promise<void> {
  const before = 'using audit_head head where head.workspace_id = one.workspace_id and';
  await db.query(patientQuery(`delete from audit_retired one ${before} one.ingest <= kept_after`, []));
  await db.query(patientQuery(`delete from audit_checkpoint one ${before} size < kept_after`, []));
  await db.query(patientQuery(`delete from audit_gap one ${before} coalesce(one.ingest, 0) <= kept_after and received_at < $1`, [instant]));
}

/** Spools that have brought nothing since: whatever they might still bring would be taken for new. */
export async function deleteSpoolsBefore(db: Queryable, instant: Date): Promise<void> {
  await db.query(
    patientQuery(
      `with gone as (delete from audit_stream where seen_at < $1 returning workspace_id, spool_id)
       delete from audit_sent using gone where audit_sent.workspace_id = gone.workspace_id and audit_sent.spool_id = gone.spool_id`,
      [instant],
    ),
  );
}
