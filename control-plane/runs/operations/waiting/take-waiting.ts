// Takes a run that has waited for persons, to resume it in this process. Taking it raises its generation in the transaction
// that locks it, so it is resumed once, and a process that resumed it before cannot write any more.
import { inTransaction } from '../../../database/transaction.ts';
import type { OperationDeps } from '../../../access/operation.ts';
import { type RunRef, nothingKnown } from '../../rules/run.ts';
import type { TakenRun } from '../../runner.ts';
import { findRunOwner } from '../../store/runs.ts';
import { type DueRun, takeDue } from '../../store/waiting-runs.ts';
import { endOnce } from '../books/record-end.ts';
import type { WaitDeps } from './record-waiting.ts';
import { answersTo, openStored } from './stored-answers.ts';

type TakeDeps = WaitDeps & Pick<OperationDeps, 'clock'>;

/** `problem`: the run was taken, but it cannot be resumed, and must be ended. */
export type Taken = TakenRun | { readonly problem: string };

/**
 * Returns null if the run no longer waits, another process takes it, or it was cancelled and has ended now. `held` is called
 * before the commit, with the new generation.
 */
export async function takeWaiting(
  deps: TakeDeps,
  instance: string,
  due: DueRun,
  held: (generation: number) => void,
): Promise<Taken | null> {
  const { workspaceId, id } = due;
  const run: RunRef = { workspaceId, id };
  // If the secret cannot be read, the run must continue to wait.
  const keys = await deps.approvals.keys();
  return inTransaction(deps.pool, async (client): Promise<Taken | null> => {
    const owner = await findRunOwner(client, workspaceId, id);
    const row = owner === null ? null : await takeDue(client, due, instance);
    if (owner === null || row === null) return null;
    const { generation, slug, revision, isCancelled, sealed } = row;
    if (isCancelled) {
      const end = { ...nothingKnown, status: 'cancelled', stopReason: 'cancelled', error: null } as const;
      await endOnce(client, { run, owner, generation, end, at: deps.clock() });
      return null;
    }
    held(generation);
    const opened = openStored(keys, run, sealed);
    if ('problem' in opened) return opened;
    return { run, slug, revision, stored: opened.stored, answers: await answersTo(client, workspaceId, opened.questions) };
  });
}
