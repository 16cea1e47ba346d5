// Periodic job of every control plane, at start and then every few seconds. It finds the runs whose control plane no
// longer sends heartbeats. A run that was resumed after a wait and has done nothing since waits again. Every other run is
// marked as failed, and its reservations count as spent. Several processes can do this at the same time, because each
// run is checked again after it is locked.

import { died, lost, nothingKnown, type RunRef, silenceMs } from '../../rules/run.ts';
import { reasonOf } from '../../../base/loggable.ts';
import { deleteSilentInstances, findOrphans, findRunsOf, isOrphan } from '../../store/run-instances.ts';
import { findRunOwner } from '../../store/runs.ts';
import { inTransaction, type Queryable } from '../../../database/transaction.ts';
import type { OperationDeps } from '../../../access/operation.ts';
import { waitAgain } from '../../store/waiting-runs.ts';
import { endOnce } from '../books/record-end.ts';
import { lockToEnd } from '../books/settle.ts';

const forgetMs = 3_600_000;
/** The maximum number of runs that are ended at one time. The remaining runs wait until this job runs again. */
const runsMax = 1_000;

interface AbandonedRunsDeps extends Pick<OperationDeps, 'pool' | 'clock'> {
  readonly log: { warn(fields: object, message: string): void };
}

/** The control plane that executes this job. It knows the state of its own runs exactly. */
interface Self {
  readonly instance: string;
  /** Whether this control plane still executes the run, or will soon record its end. */
  readonly holds: (run: RunRef) => boolean;
  /**
   * Whether missing heartbeats of other instances mean that those instances have a problem. If false, the database or
   * this control plane itself may be the cause (`heartbeat.ts`).
   */
  readonly isSteady: () => boolean;
}

/** A run that no process executes. `stillIs` checks this again after the run was locked. */
interface AbandonedRun {
  readonly run: RunRef;
  readonly error: string;
  readonly stillIs: (client: Queryable) => Promise<boolean>;
}

/** Returns how many runs were marked as failed. */
export async function endAbandonedRuns(deps: AbandonedRunsDeps, self: Self | null = null): Promise<number> {
  const { pool, log } = deps;
  let endedRuns = 0;
  const silent = self === null || self.isSteady() ? await findSilent(pool) : [];
  for (const abandoned of [...silent, ...(self === null ? [] : await findLost(pool, self))]) {
    try {
      if (await failRun(deps, abandoned)) endedRuns += 1;
    } catch (error) {
      log.warn({ run: abandoned.run.id, reason: reasonOf(error) }, 'an abandoned run could not be ended yet');
    }
  }
  if (endedRuns > 0) log.warn({ runs: endedRuns }, 'abandoned runs were ended');
  await deleteSilentInstances(pool, forgetMs);
  return endedRuns;
}

const findSilent = async (db: Queryable): Promise<readonly AbandonedRun[]> =>
  (await findOrphans(db, silenceMs, runsMax)).map((run) => ({ run, error: died, stillIs: (client) => isOrphan(client, run, silenceMs) }));

/**
 * Returns the running runs of this instance that it does not hold: the beginning was committed but its answer was lost,
 * or the end could not be recorded.
 */
async function findLost(db: Queryable, { instance, holds }: Self): Promise<readonly AbandonedRun[]> {
  const running = await findRunsOf(db, instance);
  return running.filter((run) => !holds(run)).map((run) => ({ run, error: lost, stillIs: () => Promise.resolve(!holds(run)) }));
}

async function failRun({ pool, clock }: AbandonedRunsDeps, { run, error, stillIs }: AbandonedRun): Promise<boolean> {
  const owner = await findRunOwner(pool, run.workspaceId, run.id);
  if (owner === null) return false;
  const ending = { run, owner, generation: null, end: { ...nothingKnown, error }, at: clock() };
  return inTransaction(pool, async (client) => {
    // A run that was resumed and has done nothing since can be resumed again.
    const isIdle = (await lockToEnd(client, run, owner, null)) && (await stillIs(client)) && (await waitAgain(client, run));
    return isIdle ? false : endOnce(client, ending, () => stillIs(client));
  });
}
