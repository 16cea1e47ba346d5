import type { ApprovalStatus } from '@tollgate/proto/contract';
import { statusOf } from '../rules/approval.ts';
import { findApproval, readTime } from '../store/approvals.ts';
import { type Asker, mayAskFor } from './asker.ts';
import type { ApprovalDeps } from './parts.ts';

/** Returns the state of an approval that this key asked for; null: it asked for no such approval. */
export async function readStatus(
  { pool }: Pick<ApprovalDeps, 'pool'>,
  asker: Asker,
  { approvalId, keyId }: { readonly approvalId: string; readonly keyId: string },
): Promise<ApprovalStatus | null> {
  const approval = await findApproval(pool, { workspaceId: asker.workspaceId, id: approvalId });
  if (approval === null || approval.call.keyId !== keyId || mayAskFor(asker, approval.call) !== null) return null;
  return statusOf(approval, await readTime(pool));
}
