// Stores workspaces. All other data in the store belongs to a workspace.
import type { PageWanted } from '../../base/page.ts';
import { patientQuery, type Queryable } from '../../database/transaction.ts';

export interface Workspace {
  readonly id: number;
  readonly slug: string;
  /** 32 hex digits that are never reused. The slug can be reused. */
  readonly randomId: string;
  readonly revision: number;
  readonly frozen: boolean;
  /**
   * The earliest revision for which all later changes are recorded (`workspace-changes.ts`). The later changes are then
   * also recorded for every later revision.
   */
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

/**
 * Returns the id of the new workspace. Null: the slug is taken. The revision starts at the highest revision of removed
 * workspaces, so that no revision of an earlier workspace with the same slug occurs again.
 */
export async function insertWorkspace(db: Queryable, slug: string, createdAt: Date): Promise<number | null> {
  const { rows } = await db.query<{ id: string }>(
    'insert into workspace (slug, created_at) values ($1, $2) on conflict do nothing returning id',
    [slug, createdAt],
  );
  if (rows[0] === undefined) return null;
  // This is a separate statement. The statement above may have waited until another workspace was removed, and it would
  // not see the result of that removal.
  await db.query(
    `update workspace set revision = removed_revision, changes_from = removed_revision from deployment where workspace.id = $1`,
    [rows[0].id],
  );
  return Number(rows[0].id);
}

/** Returns the workspace that was created first; null: there is none. */
export async function findFirstWorkspace(db: Queryable): Promise<Workspace | null> {
  const { rows } = await db.query<WorkspaceRow>(`select ${columns} from workspace order by id limit 1`);
  return rows[0] === undefined ? null : workspaceFromRow(rows[0]);
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

/** Lists a part of the workspaces, by their slug. */
export async function listWorkspacesAfter(db: Queryable, { limit, after }: PageWanted<string>): Promise<readonly Workspace[]> {
  const { rows } = await db.query<WorkspaceRow>(
    `select ${columns} from workspace where $1::text is null or slug > $1 order by slug limit $2`,
    [after, limit],
  );
  return rows.map(workspaceFromRow);
}

export async function setFrozen(db: Queryable, id: number, frozen: boolean): Promise<void> {
  await db.query('update workspace set frozen = $2 where id = $1', [id, frozen]);
}

const deleteTimeoutMs = 10 * 60_000;

/** Deletes the workspace with everything in it. Returns false if no workspace has that slug. */
export async function deleteWorkspace(db: Queryable, slug: string): Promise<boolean> {
  await db.query('set local statement_timeout = 0');
  const { rows } = await db.query<{ id: string; revision: string }>(
    patientQuery('delete from workspace where slug = $1 returning id, revision', [slug], deleteTimeoutMs),
  );
  if (rows[0] === undefined) return false;
  // Audit entries and their counts have no foreign key to the workspace, for performance. Therefore they are deleted
  // here, in the order in which the ingest locks the tables.
  for (const table of ['audit_entry', 'decision_count', 'finding_count'])
    await db.query(patientQuery(`delete from ${table} where workspace_id = $1`, [rows[0].id], deleteTimeoutMs));
  // This statement comes last, so that it locks the row for a short time only.
  await db.query('update deployment set removed_revision = greatest(removed_revision, $1)', [rows[0].revision]);
  return true;
}
