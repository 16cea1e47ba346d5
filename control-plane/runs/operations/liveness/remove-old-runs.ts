// Periodic job of every control plane, at start and then each hour: deletes runs that ended before the retention of the
// audit log began, including their transcripts. Safe when two processes run it at the same time: each takes rows that
// the other has not taken.

import { reasonOf } from '../../../base/loggable.ts';
import { deleteRunsEndedBefore } from '../../store/runs.ts';
import { isUnavailable } from '../../../base/unavailable.ts';
import type { OperationDeps } from '../../../access/operation.ts';

const dayMs = 24 * 3_600_000;
/** Runs in one statement. A transcript can have several MiB. */
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
    // The job runs again in an hour.
    if (!isUnavailable(error)) throw error;
    log.warn({ reason: reasonOf(error), retentionDays }, 'runs past their retention could not be removed');
  }
  return removed;
}
