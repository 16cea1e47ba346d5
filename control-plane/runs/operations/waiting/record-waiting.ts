// Records the steps of a wait: a root run waits for persons (`recordWaiting`), it was resumed and makes its first call
// (`recordContinued`), it was resumed and is given back before that (`recordWaitsAgain`), it ends (`endWait`). Each is one
// transaction that locks the run and checks its generation. The lock of the run comes before those of approvals.
// `take-waiting.ts` has the step between: a control plane takes a waiting run.
import type pg from 'pg';
import type { ApprovalAsk, AskResult } from '@tollgate/proto/contract';
import type { OperationDeps } from '../../../access/operation.ts';
import { askWithin, countAsk } from '../../../approvals/operations/ask.ts';
import { localAsker } from '../../../approvals/operations/asker.ts';
import type { ApprovalKeys } from '../../../approvals/operations/secrets.ts';
import { byTime, lockApprovals, recordStep } from '../../../approvals/store/approvals.ts';
import { cleanJson } from '../../../base/clean-json.ts';
import { inTransaction } from '../../../database/transaction.ts';
import type { RunRef } from '../../rules/run.ts';
import { RunStopped } from '../../stopped.ts';
import type { RunOwner } from '../../store/runs.ts';
import { deleteWait, eraseStoredRun, findWait, putWait, waitAgain } from '../../store/waiting-runs.ts';
import { storedBytesMax, type Wait, type WaitOutcome } from '../../waiting.ts';
import { lockToEnd, settleAll } from '../books/settle.ts';
import { answersTo, openStored, placeOfRun } from './stored-answers.ts';

export type WaitDeps = Pick<OperationDeps, 'pool' | 'random' | 'approvals'>;

/** A run as a control plane holds it. */
export interface HeldRun {
  readonly run: RunRef;
  readonly owner: RunOwner;
  readonly generation: number;
}

export interface NewWait extends HeldRun {
  /** Made before the first try. A later try finds by it what an earlier one has committed. */
  readonly waitId: string;
  readonly instance: string;
  readonly wait: Wait;
  /** The known costs of reservations that are still open. */
  readonly costs: ReadonlyMap<string, number>;
}

const tooLarge = (bytes: number): WaitOutcome => ({
  kind: 'impossible',
  why: `the run cannot wait for a person: its conversation has ${bytes} bytes, and at most ${storedBytesMax} are stored`,
});

/** Throws `RunStopped` if the run is not running at this generation. */
export async function recordWaiting(deps: WaitDeps, wanted: NewWait): Promise<WaitOutcome> {
  const { asks, write } = wanted.wait;
  if (write.bytes > storedBytesMax) return tooLarge(write.bytes);
  const { keys: readKeys, metrics } = deps.approvals;
  const keys = await readKeys();
  const asker = localAsker(wanted.run.workspaceId);
  const ask = (client: pg.PoolClient, one: ApprovalAsk) => askWithin({ deps, client, asker, ask: one, keys });
  const { outcome, asked } = await inTransaction(deps.pool, async (client) => {
    const { run, owner } = wanted;
    // Only after the lock it is certain whether an earlier try, whose answer was lost, has stored the run.
    if (!(await lockToEnd(client, run, owner, wanted.generation))) return { outcome: await storedBefore(client, keys, wanted), asked: [] };
    const results: Awaited<ReturnType<typeof ask>>[] = [];
    for (const one of asks) results.push(await ask(client, one));
    const answers = results.map(({ result }) => result);
    if (!answers.some(isPending)) return { outcome: { kind: 'answered', answers } as const, asked: results };
    await store(client, wanted, { answers, seal: (text) => keys.sealAt(placeOfRun(run), text) });
    return { outcome: { kind: 'waits', answers } as const, asked: results };
  });
  for (const one of asked) countAsk(metrics, one);
  return outcome;
}

/** Returns what an earlier try has stored. Throws `RunStopped` if none has: the run was ended by another process. */
async function storedBefore(client: pg.PoolClient, keys: ApprovalKeys, { run, waitId }: NewWait): Promise<WaitOutcome> {
  const found = await findWait(client, run, waitId);
  if (found === null) throw new RunStopped('ended');
  const opened = openStored(keys, run, found.sealed);
  // Another process has resumed the run and made a call since, so nothing is left to show.
  if ('problem' in opened) return { kind: 'waits', answers: [] };
  const answers = await answersTo(client, run.workspaceId, opened.questions);
  return {
    kind: 'waits',
    answers: answers.map((answer) => (answer === null ? unasked : { kind: 'approval', isNew: answer.isCounted, ...answer })),
  };
}

const unasked: AskResult = { kind: 'refused', code: null, words: 'no one was asked', retryAfterMs: null };

const isPending = (answer: AskResult): boolean => answer.kind === 'approval' && answer.approval.state === 'pending';

interface Asked {
  readonly answers: readonly AskResult[];
  readonly seal: (text: string) => Uint8Array;
}

async function store(
  client: pg.PoolClient,
  { run, owner, instance, waitId, wait, costs }: NewWait,
  { answers, seal }: Asked,
): Promise<void> {
  // The money of model calls is not held while the run waits.
  await settleAll(client, run, owner, costs);
  const sealed = seal(wait.write.text(answers));
  const approvalIds = [...new Set(answers.flatMap((answer) => (answer.kind === 'approval' ? answer.approval.approvalId : [])))];
  const reader = wait.isRead ? instance : null;
  const transcript = cleanJson(wait.transcript, new Set());
  await putWait(client, run, { waitId, approvalIds, reader, sealed }, { ...wait.progress, transcript });
}

/** See `RunRecords.markContinued`. Throws `RunStopped` if the run is not running at this generation. */
export function recordContinued({ pool }: Pick<WaitDeps, 'pool'>, { run, owner, generation }: HeldRun): Promise<void> {
  return inTransaction(pool, async (client) => {
    if (!(await lockToEnd(client, run, owner, generation))) throw new RunStopped('ended');
    await eraseStoredRun(client, run);
  });
}

/** Lets a run wait again that was resumed and has done nothing since. Does nothing if it is not running at this generation. */
export function recordWaitsAgain({ pool }: Pick<WaitDeps, 'pool'>, { run, owner, generation }: HeldRun): Promise<void> {
  return inTransaction(pool, async (client) => {
    if (await lockToEnd(client, run, owner, generation)) await waitAgain(client, run);
  });
}

/** Deletes what is stored of a run that ends now, and cancels the questions that no one needs to answer any more. */
export async function endWait(client: pg.PoolClient, run: RunRef): Promise<void> {
  const ids = await deleteWait(client, run);
  for (const approval of ids.length === 0 ? [] : await lockApprovals(client, run.workspaceId, ids))
    if (approval.state === 'pending')
      await recordStep(client, approval, 'cancelled', byTime, { state: 'cancelled', note: runEnded }, { why: runEnded });
}

const runEnded = 'the run that asked has ended';
