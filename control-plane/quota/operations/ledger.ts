// The ledger of leases for all sidecars that are connected to this process or run inside it. Messages of one workspace
// that arrive during a transaction wait together and share the next transaction. Therefore no message waits for a row
// lock of this process, and one commit serves many messages. Waiting messages have a memory budget in bytes. When a
// message takes memory, its key must not hold more bytes than then remain free for all other keys. A message without
// enough budget is refused, and the sidecar asks again.
import { AppError, FairMemory, type OnRecall, type QuotaAnswer, type QuotaAsk, type QuotaLink } from '@tollgate/proto/contract';
import { badRequest } from '../../base/refusal.ts';
import { asksBytes, asksProblem } from '../rules/asks-form.ts';
import type { QuotaPolicyWatch } from '../../publish/quota-policy.ts';
import type { OperationDeps } from '../../access/operation.ts';
import { inTurns } from '../../base/turns.ts';
import { answerAsks } from './answer-asks.ts';
import type { AskAnswers, LeaseMessage } from './lease-message.ts';
import { DatabaseTime } from './begin-runs.ts';
import { ContendedCounters } from './contended-counters.ts';
import type { Asker } from './plan-ask.ts';
import type { Recalls } from './recalls.ts';
import type { CrowdedKeys } from './remove-excess-counters.ts';

export interface QuotaMetrics {
  answered(answers: readonly QuotaAnswer[]): void;
  falseClaim(): void;
  /** Called after each transaction with its duration in ms. */
  committed(ms: number): void;
  /**
   * Counts asks for counters that the asker is not permitted to use, and asks for counters that are not created because
   * the asker's key already has too many.
   */
  demanded(asks: number): void;
}

export interface LedgerDeps extends Pick<OperationDeps, 'pool'> {
  readonly watchPolicy: (workspaceId: number) => QuotaPolicyWatch;
  readonly recalls: Recalls;
  readonly metrics: QuotaMetrics;
  readonly crowded: Pick<CrowdedKeys, 'has'>;
  /** The time in ms since an arbitrary start. */
  readonly now: () => number;
}

interface QuotaHolder extends Asker {
  readonly workspaceId: number;
  /** SHA-256 of a secret that a process creates at each start, in hex. */
  readonly holder: string;
}

export interface Ledger {
  /**
   * Opens a link for one holder. Its `ask` rejects with `bad_request` if the message contains a false statement. `ask`
   * can be called again before an earlier call has resolved; the order is kept.
   */
  open(holder: QuotaHolder, onRecall: OnRecall): QuotaLink;
}

interface WaitingMessage {
  readonly message: LeaseMessage;
  readonly settle: (answered: AskAnswers) => void;
  readonly fail: (reason: unknown) => void;
}

/**
 * The maximum number of transactions at the same time. A higher number would leave too few database connections for
 * other work.
 */
const atOnce = 4;
/** Maximum number of asks in one transaction. A single message can also contain this many. */
const asksMax = 1_000;
/** Memory budget in bytes for all waiting messages of all workspaces. */
const standardMemoryBytes = 128 * 1_048_576;
/** Maximum wait for the first policy, in ms. */
const policyMs = 2_000;

const holderForm = /^[0-9a-f]{64}$/;

export function createLedger(
  { pool, watchPolicy, recalls, metrics, crowded, now }: LedgerDeps,
  memoryBytes: number = standardMemoryBytes,
): Ledger {
  const memory = new FairMemory<string>(memoryBytes);
  const contended = new ContendedCounters(now);
  const databaseTime = new DatabaseTime(now);
  const lanes = new Map<number, WaitingMessage[]>();

  const commit = inTurns(atOnce, async (workspaceId: number, lane: WaitingMessage[]): Promise<void> => {
    const batch = takeBatch(lane);
    const began = now();
    try {
      const answered = await answerAsks(
        { pool, contended, databaseTime },
        workspaceId,
        batch.map(({ message }) => message),
      );
      metrics.committed(now() - began);
      for (const [at, { settle, fail }] of batch.entries()) {
        const one = answered[at];
        if (one === undefined) fail(new Error('answerAsks must return one result for each message, but returned none for this message'));
        else settle(one);
      }
    } catch (error) {
      for (const { fail } of batch) fail(error);
    }
  });
  const run = async (workspaceId: number, lane: WaitingMessage[]): Promise<void> => {
    while (lane.length > 0) await commit(workspaceId, lane);
    lanes.delete(workspaceId);
  };
  const answer = (message: LeaseMessage): Promise<AskAnswers> =>
    new Promise((settle, fail) => {
      const waiting = { message, settle, fail };
      const lane = lanes.get(message.workspaceId);
      if (lane !== undefined) return void lane.push(waiting);
      const fresh = [waiting];
      lanes.set(message.workspaceId, fresh);
      void run(message.workspaceId, fresh);
    });

  return {
    open: ({ workspaceId, holder, ...asker }, onRecall) => {
      if (!holderForm.test(holder)) throw badRequest('a holder must be 64 hex digits');
      const watch = watchPolicy(workspaceId);
      const detach = recalls.attach(workspaceId, holder, onRecall);
      let isOpen = true;
      const answerOf = async (asks: readonly QuotaAsk[]): Promise<AskAnswers> => {
        const policy = watch.current ?? (await within(policyMs, watch.first));
        const isCrowded = crowded.has({ workspaceId, keyId: asker.keyId });
        return answer({ workspaceId, holder, asker, isCrowded, asks, policy, isHeard: () => isOpen });
      };
      const ask = async (asks: readonly QuotaAsk[]): Promise<readonly QuotaAnswer[]> => {
        const problem = asksProblem(asks);
        if (problem !== null) throw badRequest(problem);
        const bytes = asksBytes(asks);
        if (!memory.take(asker.keyId, bytes)) throw tooManyAsks();
        const answered = await answerOf(asks).finally(() => memory.give(asker.keyId, bytes));
        if ('falseClaim' in answered) {
          metrics.falseClaim();
          throw badRequest(answered.falseClaim);
        }
        recalls.send(workspaceId, answered.recalls);
        metrics.answered(answered.answers);
        if (answered.beyond > 0) metrics.demanded(answered.beyond);
        return answered.answers;
      };
      return {
        ask,
        close: () => {
          isOpen = false;
          detach();
          watch.close();
        },
      };
    },
  };
}

const tooManyAsks = (): AppError =>
  new AppError({ code: 'unavailable', publicMessage: 'too many lease requests of this key are waiting; try again' });

/** Takes as many messages as fit into one transaction, at least one. */
function takeBatch(lane: WaitingMessage[]): readonly WaitingMessage[] {
  let asks = 0;
  const end = lane.findIndex(({ message }, at) => (asks += message.asks.length) > asksMax && at > 0);
  return lane.splice(0, end < 0 ? lane.length : end);
}

async function within<T>(ms: number, waitedFor: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new AppError({ code: 'unavailable', publicMessage: 'the policy of the workspace cannot be read; try again' })),
      ms,
    );
  });
  try {
    return await Promise.race([waitedFor, late]);
  } finally {
    clearTimeout(timer);
  }
}
