// Stores the uses of approvals. The caller has locked the row of the approval.
import type { Queryable } from '../../database/transaction.ts';
import type { ApprovalRef } from '../rules/approval.ts';

export type UseState = 'used' | 'returned';

/** Returns what became of the use of this request; null: it has claimed none. */
export async function findUse(db: Queryable, { workspaceId, id }: ApprovalRef, requestId: string): Promise<UseState | null> {
  const { rows } = await db.query<{ returned: boolean }>(
    'select returned_at is not null as returned from approval_use where workspace_id = $1 and approval_id = $2 and request_id = $3',
    [workspaceId, id, requestId],
  );
  if (rows[0] === undefined) return null;
  return rows[0].returned ? 'returned' : 'used';
}

/** Counts the uses that are not returned, and all that are stored. */
export async function countUses(db: Queryable, { workspaceId, id }: ApprovalRef): Promise<{ readonly used: number; readonly all: number }> {
  const { rows } = await db.query<{ used: number; all: number }>(
    `select count(*) filter (where returned_at is null)::int as used, count(*)::int as all
     from approval_use where workspace_id = $1 and approval_id = $2`,
    [workspaceId, id],
  );
  return rows[0] ?? { used: 0, all: 0 };
}

/** Whether no other request has an earlier use that was not returned. */
export async function isFirstUse(db: Queryable, { workspaceId, id }: ApprovalRef, requestId: string): Promise<boolean> {
  const { rows } = await db.query<{ first: boolean }>(
    `select not exists (
       select 1 from approval_use other where other.workspace_id = own.workspace_id and other.approval_id = own.approval_id
         and other.request_id <> own.request_id and other.returned_at is null and other.claimed_at < own.claimed_at
     ) as first
     from approval_use own where own.workspace_id = $1 and own.approval_id = $2 and own.request_id = $3`,
    [workspaceId, id, requestId],
  );
  return rows[0]?.first === true;
}

export async function insertUse(db: Queryable, { workspaceId, id }: ApprovalRef, requestId: string): Promise<void> {
  await db.query('insert into approval_use (workspace_id, approval_id, request_id, claimed_at) values ($1, $2, $3, clock_timestamp())', [
    workspaceId,
    id,
    requestId,
  ]);
}

/** Marks the use of the request as returned. A claim that arrives later is then not granted. */
export async function returnUse(db: Queryable, { workspaceId, id }: ApprovalRef, requestId: string): Promise<void> {
  await db.query(
    `insert into approval_use (workspace_id, approval_id, request_id, returned_at) values ($1, $2, $3, clock_timestamp())
     on conflict (workspace_id, approval_id, request_id) do update set returned_at = coalesce(approval_use.returned_at, excluded.returned_at)`,
    [workspaceId, id, requestId],
  );
}
