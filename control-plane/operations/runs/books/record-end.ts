// A run ends once, by whoever comes first: the control plane that runs it, or who finds it left behind.
import { cleanJson, cleanText } from '../../../domain/clean-json.ts';
import type { RunRef } from '../../../domain/runs/run.ts';
import { findRunEnd, type RunOwner, type StoredEnd, updateRunEnd } from '../../../store/runs.ts';
import { lockRuns } from '../../../store/spend.ts';
import { inTransaction, type Queryable } from '../../../store/transaction.ts';
import type { Deps } from '../../operation.ts';
import { lockToEnd, settleAll } from './settle.ts';

interface Ending {
  readonly run: RunRef;
  readonly owner: RunOwner;
  readonly end: Omit<StoredEnd, 'at'>;
  /** What is known of reservations that are still open, by id; the others are spent. */
  readonly costs?: ReadonlyMap<string, number>;
  /** The same for every try: by it an earlier one is found again, whose answer nobody heard. */
  readonly at: Date;
}

/** What the run and all below it cost, in µ¢; null where it had ended already. */
export function recordEnd({ pool }: Pick<Deps, 'pool'>, ending: Ending): Promise<{ readonly spent: number } | null> {
  const { run, end, at } = ending;
  const { workspaceId, id } = run;
  return inTransaction(pool, async (client) => {
    if (!(await endOnce(client, ending))) return findRunEnd(client, workspaceId, id, { status: end.status, at });
    const ended = (await lockRuns(client, workspaceId, [id]))[0];
    return { spent: ended?.spent ?? 0 };
  });
}

const always = (): Promise<boolean> => Promise.resolve(true);

/** False where it had ended already, or is not to end after all, which is asked once it is locked. */
export async function endOnce(db: Queryable, { run, owner, end, costs, at }: Ending, isTo = always): Promise<boolean> {
  if (!(await lockToEnd(db, run, owner)) || !(await isTo())) return false;
  await settleAll(db, run, owner, costs);
  await updateRunEnd(db, run.workspaceId, run.id, {
    ...end,
    output: cleanText(end.output, new Set()),
    error: end.error === null ? null : cleanText(end.error, new Set()),
    transcript: cleanJson(end.transcript, new Set()),
    at,
  });
  return true;
}
