// The counter that every write of a workspace raises. The row stays locked until the write commits, so revisions have
// the order of commits and no gaps, and within one workspace no two writes interleave.
import type pg from 'pg';
import { unauthenticated } from '../domain/refusal.ts';

/** Who listens on it hears `<workspace id>:<revision>:<ms since 1970>`: a hint to look, never the truth. */
export const revisionChannel = 'tollgate_revision';

/** What it tells the channel is delivered when the transaction commits, and heard by `watch-revisions.ts` of every replica. */
export async function raiseRevision(client: pg.PoolClient, workspaceId: number): Promise<number> {
  const { rows } = await client.query<{ revision: string }>(
    `with raised as (update workspace set revision = revision + 1, raised_at = clock_timestamp() where id = $1 returning id, revision, raised_at)
     select revision, pg_notify($2, id || ':' || revision || ':' || round(extract(epoch from raised_at) * 1000)) from raised`,
    [workspaceId, revisionChannel],
  );
  const raised = rows[0];
  if (raised === undefined) throw unauthenticated('the workspace of this key is gone');
  return Number(raised.revision);
}
