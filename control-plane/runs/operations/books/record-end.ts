// Records the end of a run. A run ends only once. The end is written by the control plane that executes the run, or by
// one that finds it abandoned, whichever is first.
import type pg from 'pg';
import { cleanJson, cleanText } from '../../../base/clean-json.ts';
import type { RunRef } from '../../rules/run.ts';
import { findRunEnd, type RunOwner, type StoredEnd, updateRunEnd } from '../../store/runs.ts';
import { lockRuns } from '../../store/spend.ts';
import { inTransaction } from '../../../database/transaction.ts';
import type { OperationDeps } from '../../../access/operation.ts';
import { endWait } from '../waiting/record-waiting.ts';
import { lockToEnd, settleAll } from './settle.ts';

interface RunEnding {
  readonly run: RunRef;
  readonly owner: RunOwner;
  readonly end: Omit<StoredEnd, 'at'>;
  /** How often the run was resumed before it ended; null: this does not matter. */
  readonly generation: number | null;
  /** The known costs of reservations that are still open, by id. All other reservations count as spent in full. */
  readonly costs?: ReadonlyMap<string, number>;
  /**
   * The time of the end. It does not change between tries, so it identifies the result of an earlier try whose answer
   * was lost.
   */
  readonly at: Date;
}

/** Returns the cost of the run and all runs below it, in µ¢; null if the run had already ended. */
export function recordEnd({ pool }: Pick<OperationDeps, 'pool'>, ending: RunEnding): Promise<{ readonly spent: number } | null> {
  const { run, end, at } = ending;
  const { workspaceId, id } = run;
  return inTransaction(pool, async (client) => {
    if (!(await endOnce(client, ending))) return findRunEnd(client, workspaceId, id, { status: end.status, at });
    const ended = (await lockRuns(client, workspaceId, [id]))[0];
    return { spent: ended?.spent ?? 0 };
  });
}

const always = (): Promise<boolean> => Promise.resolve(true);

/**
 * Ends the run. Returns false if the run had already ended, or if `isTo` returns false. `isTo` is called after the run
 * was locked.
 */
export async function endOnce(db: pg.PoolClient, { run, owner, generation, end, costs, at }: RunEnding, isTo = always): Promise<boolean> {
  if (!(await lockToEnd(db, run, owner, generation)) || !(await isTo())) return false;
  await settleAll(db, run, owner, costs);
  await updateRunEnd(db, run.workspaceId, run.id, {
    ...end,
    output: cleanText(end.output, new Set()),
    error: end.error === null ? null : cleanText(end.error, new Set()),
    transcript: cleanJson(end.transcript, new Set()),
    at,
  });
  await endWait(db, run);
  return true;
}
