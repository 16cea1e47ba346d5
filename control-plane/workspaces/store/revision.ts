// Raises the revision of a workspace. Every write does this. The row stays locked until the write commits. Therefore
// revisions follow the order of commits and have no gaps, and two writes of one workspace never overlap.
import type pg from 'pg';
import { unauthenticated } from '../../base/refusal.ts';

/**
 * The channel that announces new revisions. Messages have the form `<workspace id>:<revision>:<ms since 1970>`. A
 * message is only a hint to check the database.
 */
export const revisionChannel = 'tollgate_revision';

/**
 * Raises the revision and notifies all replicas. The notification is delivered when the transaction commits.
 * `watch-revisions.ts` of every replica receives it.
 */
export async function raiseRevision(client: pg.PoolClient, workspaceId: number): Promise<number> {
  const { rows } = await client.query<{ revision: string }>(
    `with raised as (update workspace set revision = revision + 1, raised_at = clock_timestamp() where id = $1 returning id, revision, raised_at)
     select revision, pg_notify($2, id || ':' || revision || ':' || round(extract(epoch from raised_at) * 1000)) from raised`,
    [workspaceId, revisionChannel],
  );
  const raised = rows[0];
  if (raised === undefined) throw unauthenticated('the workspace of this key no longer exists');
  return Number(raised.revision);
}
