// Deletes a workspace. This is for the operator, who is not a member of any workspace.
import { isSlug } from '@tollgate/proto/contract';
import { badRequest, notFound } from '../../base/refusal.ts';
import { inTransaction } from '../../database/transaction.ts';
import { deleteWorkspace as deleteStored } from '../store/workspaces.ts';
import type { OperationDeps } from '../../access/operation.ts';

/** Deletes the workspace with everything in it. `confirm` must repeat the slug, as a protection against mistakes. */
export async function deleteWorkspace({ pool }: Pick<OperationDeps, 'pool'>, slug: string, confirm: string): Promise<void> {
  if (confirm !== slug) throw badRequest('slug must be repeated in the body, as confirmation');
  const deleted = isSlug(slug) && (await inTransaction(pool, (client) => deleteStored(client, slug)));
  if (!deleted) throw notFound('there is no such workspace');
}
