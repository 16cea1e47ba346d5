// Periodic job of every control plane: deletes records of changes that are so old that no sidecar should still need
// them. A sidecar that does need them receives the whole state. Two processes may run it at the same time. It handles
// one workspace after the other, because writes of a workspace must wait while its records are deleted.
import { deleteOldChanges } from '../store/workspace-changes.ts';
import { listWorkspaces } from '../store/workspaces.ts';
import type { OperationDeps } from '../../access/operation.ts';

interface ChangeRetention {
  readonly revisions: number;
  /**
   * The maximum number of records that are kept for a workspace. It applies if this many keys changed in fewer than
   * `revisions` revisions.
   */
  readonly keys: number;
}

const standardKept: ChangeRetention = { revisions: 10_000, keys: 100_000 };

export async function removeOldChanges({ pool }: Pick<OperationDeps, 'pool'>, kept: ChangeRetention = standardKept): Promise<void> {
  for (const { id } of await listWorkspaces(pool)) await deleteOldChanges(pool, id, kept);
}
