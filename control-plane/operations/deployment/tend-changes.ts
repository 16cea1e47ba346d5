// A chore of every control plane: what was changed so long ago that no sidecar should still hold what was before is forgotten. One that
// does is sent the whole. Safe to run twice at once. One workspace after the other: writes of each wait for it.
import { deleteOldChanges } from '../../store/workspace-changes.ts';
import { listWorkspaces } from '../../store/workspaces.ts';
import type { Deps } from '../operation.ts';

interface Kept {
  readonly revisions: number;
  /** Of a workspace where so many changed in fewer revisions. */
  readonly keys: number;
}

const standardKept: Kept = { revisions: 10_000, keys: 100_000 };

export async function tendChanges({ pool }: Pick<Deps, 'pool'>, kept: Kept = standardKept): Promise<void> {
  for (const { id } of await listWorkspaces(pool)) await deleteOldChanges(pool, id, kept);
}
