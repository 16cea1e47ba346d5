// A run begins below one that goes on, or by itself. What it was asked for is kept as far as the database takes it.
import { cleanJson } from '../../../domain/clean-json.ts';
import type { NewRun } from '../../../runs/records.ts';
import { findRunOwner, insertRun } from '../../../store/runs.ts';
import { lockRuns } from '../../../store/spend.ts';
import { inTransaction } from '../../../store/transaction.ts';
import type { Deps } from '../../operation.ts';

/** `instance`: the control plane that runs it. False where the run above it has ended. */
export function recordBegin({ pool, clock }: Pick<Deps, 'pool' | 'clock'>, instance: string, run: NewRun): Promise<boolean> {
  const { workspaceId, id, parentRunId } = run;
  return inTransaction(pool, async (client) => {
    const above = parentRunId === null ? { sub: run.sub, lineage: [] } : await findRunOwner(client, workspaceId, parentRunId);
    if (above === null) return false;
    // Locked, so that who ends them sees this run begun, or this one sees them ended.
    const runs = await lockRuns(client, workspaceId, above.lineage);
    if (runs.length !== above.lineage.length || runs.some(({ status }) => status !== 'running')) return false;
    await insertRun(client, workspaceId, {
      ...run,
      sub: above.sub,
      lineage: [...above.lineage, id],
      request: cleanJson(run.request, new Set()),
      instance,
      startedAt: clock(),
    });
    return true;
  });
}
