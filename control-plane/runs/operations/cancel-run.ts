// Requests the end of a run. The control plane that executes the run is notified within a second (`heartbeat.ts`).

import { reachesOthers } from '../../access/rules/access.ts';
import { isId } from '../../access/rules/key.ts';
import { forbidden } from '../../base/refusal.ts';
import type { RunSummary } from '../rules/run.ts';
import { findRunOwner, requestCancel } from '../store/runs.ts';
import { effectOperation } from '../../access/operation.ts';
import { maySee, noSuchRun, requireRun } from './read-run.ts';

/**
 * Returns the present state of the run. A run that has ended does not change. An actor that can only read the run gets
 * `forbidden`. An actor that cannot read it gets `not_found`.
 */
export const cancelRun = effectOperation('run.cancel', async ({ pool, clock }, actor, id: string): Promise<RunSummary> => {
  const run = isId(id) ? await findRunOwner(pool, actor.workspaceId, id) : null;
  if (run === null || !maySee(actor, run)) throw noSuchRun();
  if (run.sub !== actor.sub && !reachesOthers(actor, 'run.cancel'))
    throw forbidden('only owner or admin may cancel the run of another user');
  await requestCancel(pool, actor.workspaceId, id, clock());
  return requireRun(pool, actor, id);
});
