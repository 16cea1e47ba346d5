// Reads and deletes the records of which entries each revision may have changed. Database triggers write these records
// (migration 0018), in the transaction of the change itself.
import type { TouchedEntry } from '../rules.ts';
import { patientQuery, type Queryable } from '../../database/transaction.ts';

interface TouchedRow {
  readonly revision: string;
  readonly key: string;
}

const touchedFromRow = ({ revision, key }: TouchedRow): TouchedEntry => ({ revision: Number(revision), key });

/** Above this number of touched keys, reading them is not cheaper than reading the whole workspace. */
const touchedMax = 10_000;

/**
 * Returns the keys that were touched at `revision` or later, in order. Null: there are too many. `revision` itself is
 * included, because a write that does not raise the revision can come after `revision` was read.
 */
export async function listTouched(db: Queryable, workspaceId: number, revision: number): Promise<readonly TouchedEntry[] | null> {
  const { rows } = await db.query<TouchedRow>(
    'select revision, key from workspace_change where workspace_id = $1 and revision >= $2 order by revision limit $3',
    [workspaceId, revision, touchedMax + 1],
  );
  return rows.length > touchedMax ? null : rows.map(touchedFromRow);
}

/**
 * Returns the latest touched keys: those that were touched after the revision `known`. They are for sidecars that hold
 * a revision from before this process first read the workspace. `touched` contains all keys that were touched after
 * `touchedSince`.
 */
export async function listLately(
  db: Queryable,
  workspaceId: number,
  known: number,
): Promise<{ readonly touchedSince: number; readonly touched: readonly TouchedEntry[] }> {
  const { rows } = await db.query<TouchedRow>(
    'select revision, key from workspace_change where workspace_id = $1 and revision > $2 order by revision desc limit $3',
    [workspaceId, known, touchedMax],
  );
  const touched = rows.map(touchedFromRow).toReversed();
  // If the limit was reached, records of the earliest revision may be missing, so this revision is left out.
  const cut = rows.length < touchedMax ? known : (touched[0]?.revision ?? known);
  return { touchedSince: cut, touched: touched.filter(({ revision }) => revision > cut) };
}

/**
 * Keeps the records of the last `revisions` revisions of a workspace, and deletes older records. For a workspace with
 * many changes, keeps only the last `keys` records.
 */
export async function deleteOldChanges(
  db: Queryable,
  workspaceId: number,
  { revisions, keys }: { readonly revisions: number; readonly keys: number },
): Promise<void> {
  const forget = `with old as (
       select w.id, greatest(w.revision - $2, (
         select c.revision from workspace_change c where c.workspace_id = w.id order by c.revision desc, c.key offset $3 limit 1
       )) as known from workspace w where w.id = $1
     ), moved as (
       update workspace w set changes_from = old.known from old where w.id = old.id and w.changes_from < old.known returning w.id, w.changes_from
     )
     delete from workspace_change c using moved where c.workspace_id = moved.id and c.revision <= moved.changes_from`;
  await db.query(patientQuery(forget, [workspaceId, revisions, keys]));
}
