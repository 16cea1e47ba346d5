// Workspaces. All else in the store belongs to one.
import { patientQuery, type Queryable } from './transaction.ts';

export interface Workspace {
  readonly id: number;
  readonly slug: string;
  /** 32 hex digits that are never used again, where the slug may be. */
  readonly randomId: string;
  readonly revision: number;
  readonly frozen: boolean;
  /** Whoever holds this revision, or a later one, can be told what changed since (`workspace-changes.ts`). */
  readonly changesFrom: number;
  readonly createdAt: Date;
}

interface WorkspaceRow {
  readonly id: string;
  readonly slug: string;
  readonly random_id: string;
  readonly revision: string;
  readonly frozen: boolean;
  readonly changes_from: string;
  readonly created_at: Date;
}

const columns = 'id, slug, random_id, revision, frozen, changes_from, created_at';

const workspaceFromRow = (row: WorkspaceRow): Workspace => ({
  id: Number(row.id),
  slug: row.slug,
  randomId: row.random_id,
  revision: Number(row.revision),
  frozen: row.frozen,
  changesFrom: Number(row.changes_from),
  createdAt: row.created_at,
});

/** Its id, or null where the slug is taken. It begins where one that had the slug before may have ended, so that its revisions are others. */
export async function insertWorkspace(db: Queryable, slug: string, createdAt: Date): Promise<number | null> {
  const { rows } = await db.query<{ id: string }>(
    'insert into workspace (slug, created_at) values ($1, $2) on conflict do nothing returning id',
    [slug, createdAt],
  );
  if (rows[0] === undefined) return null;
  // A statement of its own: the one before may have waited for a removal, and does not see it.
  await db.query(
    `update workspace set revision = removed_revision, changes_from = removed_revision from deployment where workspace.id = $1`,
    [rows[0].id],
  );
  return Number(rows[0].id);
}

export async function findWorkspace(db: Queryable, id: number): Promise<Workspace | null> {
  const { rows } = await db.query<WorkspaceRow>(`select ${columns} from workspace where id = $1`, [id]);
  return rows[0] === undefined ? null : workspaceFromRow(rows[0]);
}

export async function findWorkspaceId(db: Queryable, slug: string): Promise<number | null> {
  const { rows } = await db.query<{ id: string }>('select id from workspace where slug = $1', [slug]);
  return rows[0] === undefined ? null : Number(rows[0].id);
}

export async function listWorkspaces(db: Queryable): Promise<readonly Workspace[]> {
  const { rows } = await db.query<WorkspaceRow>(`select ${columns} from workspace order by slug`);
  return rows.map(workspaceFromRow);
}

export async function setFrozen(db: Queryable, id: number, frozen: boolean): Promise<void> {
  await db.query('update workspace set frozen = $2 where id = $1', [id, frozen]);
}

const deleteTimeoutMs = 10 * 60_000;

/** Removes it with everything in it; false where there is none of that slug. */
export async function deleteWorkspace(db: Queryable, slug: string): Promise<boolean> {
  await db.query('set local statement_timeout = 0');
  const { rows } = await db.query<{ id: string; revision: string }>(
    patientQuery('delete from workspace where slug = $1 returning id, revision', [slug], deleteTimeoutMs),
  );
  if (rows[0] === undefined) return false;
  // Entries have no foreign key, for the sake of speed.
  await db.query(patientQuery('delete from audit_entry where workspace_id = $1', [rows[0].id], deleteTimeoutMs));
  // Last, so that its row is not held for long.
  await db.query('update deployment set removed_revision = greatest(removed_revision, $1)', [rows[0].revision]);
  return true;
}
