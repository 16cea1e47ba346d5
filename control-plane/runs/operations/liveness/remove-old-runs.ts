// Periodic job of every control plane, at start and then each hour. It deletes runs together with their transcripts. A
// run is deleted when the retention time of the audit log has passed since the end of the run. Safe when two processes
// run it at the same time: each skips the rows that the other has locked.

import { reasonOf } from '../../../base/loggable.ts';
import { deleteRunsEndedBefore } from '../../store/runs.ts';
import { isUnavailable } from '../../../base/unavailable.ts';
import type { OperationDeps } from '../../../access/operation.ts';

const dayMs = 24 * 3_600_000;
/** The maximum number of runs in one statement. It is small, because a transcript can have several MiB. */
const standardBatch = 200;

interface RemoveOldRunsDeps extends Pick<OperationDeps, 'pool' | 'clock'> {
  readonly log: { warn(fields: object, message: string): void };
}

/** Returns how many runs were removed. */
export async function removeOldRuns(
  { pool, clock, log }: RemoveOldRunsDeps,
  retentionDays: number,
  batch = standardBatch,
): Promise<number> {
  const oldest = new Date(clock().getTime() - retentionDays * dayMs);
  let removed = 0;
  try {
    for (let last = batch; last === batch; removed += last) last = await deleteRunsEndedBefore(pool, oldest, batch);
  } catch (error) {
    // If the database is not available, this is only logged, because the job runs again in an hour.
    if (!isUnavailable(error)) throw error;
    log.warn({ reason: reasonOf(error), retentionDays }, 'runs past their retention could not be removed');
  }
  return removed;
}
