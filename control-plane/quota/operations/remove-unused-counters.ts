// Periodic job of every control plane: deletes counters that no longer count anything. Safe when two processes run it
// at the same time.
import { deleteSpentCounters } from '../store.ts';
import type { OperationDeps } from '../../access/operation.ts';

/** The maximum number of rows in one statement, so that no statement takes long. */
const atOnce = 5_000;

/** Returns how many counters were deleted. */
export async function removeUnusedCounters({ pool }: Pick<OperationDeps, 'pool'>): Promise<number> {
  let gone = 0;
  for (;;) {
    const count = await deleteSpentCounters(pool, atOnce);
    gone += count;
    if (count < atOnce) return gone;
  }
}
