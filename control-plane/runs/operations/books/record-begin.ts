// Records the beginning of a root run, or of a run below a running run. The request is stored as far as the database
// can represent it.
import { cleanJson } from '../../../base/clean-json.ts';
import type { NewRun } from '../../records.ts';
import { findRunOwner, insertRun } from '../../store/runs.ts';
import { lockRuns } from '../../store/spend.ts';
import { inTransaction } from '../../../database/transaction.ts';
import type { OperationDeps } from '../../../access/operation.ts';

/**
 * `instance` is the control plane that executes the run. `generationAbove`: of the run above, as this control plane holds it. Returns false if the run above the new run has
 * ended, or was resumed by another control plane.
 */
export function recordBegin(
  { pool, clock }: Pick<OperationDeps, 'pool' | 'clock'>,
  instance: string,
  run: NewRun,
  generationAbove: number,
): Promise<boolean> {
  const { workspaceId, id, parentRunId } = run;
  return inTransaction(pool, async (client) => {
    const above = parentRunId === null ? { sub: run.sub, lineage: [] } : await findRunOwner(client, workspaceId, parentRunId);
    if (above === null) return false;
    // The rows of the runs above are locked. Therefore either the process that ends those runs sees this run, or this
    // transaction sees that they have ended.
    const runs = await lockRuns(client, workspaceId, above.lineage);
    if (runs.length !== above.lineage.length || runs.some(({ status }) => status !== 'running')) return false;
    if (parentRunId !== null && runs.at(-1)?.generation !== generationAbove) return false;
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
