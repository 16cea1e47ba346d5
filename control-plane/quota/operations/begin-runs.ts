// Answers the messages that begin runs with one statement, which inserts the row of each run together with its first
// grant. Most runs have only one sidecar, so nearly all of these rows are new. If the row of a run exists already, the
// whole message is answered by `answer-asks.ts`. There, each run of the message that was begun here receives the same
// grant again.
import type { QuotaAsk } from '@tollgate/proto/contract';
import { askLedger, type CounterState, freshCounter, keptUntilMs } from '../rules/ledger.ts';
import type { OperationDeps } from '../../access/operation.ts';
import { insertBegunCounters } from '../store.ts';
import type { AskAnswers, PlannedMessage } from './lease-message.ts';
import type { PlannedAsk } from './plan-ask.ts';

/**
 * Estimates the time of the database from its last answer. Sufficient for runs, whose grants do not depend on time. If
 * the estimate is wrong, nothing is begun by it, and the transaction that answers instead corrects it.
 */
export class DatabaseTime {
  readonly #now: () => number;
  #aheadMs: number | null = null;

  /** `now`: ms from any start point. */
  constructor(now: () => number) {
    this.#now = now;
  }

  heard(nowMs: number): void {
    this.#aheadMs = nowMs - this.#now();
  }

  /** Ms since 1970. Null: the database has not answered yet. */
  get nowMs(): number | null {
    return this.#aheadMs === null ? null : Math.floor(this.#now() + this.#aheadMs);
  }
}

interface BegunRun {
  readonly key: string;
  readonly keyId: string;
  readonly state: CounterState;
  readonly keptUntilMs: number;
}

/** Returns the answers of the messages that could be answered here. The others must still be answered. */
export async function beginRuns(
  { pool }: Pick<OperationDeps, 'pool'>,
  workspaceId: number,
  messages: readonly PlannedMessage[],
  nowMs: number,
): Promise<ReadonlyMap<PlannedMessage, AskAnswers>> {
  const runs = new Map<string, BegunRun>();
  const answers = new Map<PlannedMessage, AskAnswers>();
  for (const message of messages) {
    const begun = begin(message, nowMs);
    if (begun === null || begun.runs.some(({ key }) => runs.has(key))) continue;
    for (const run of begun.runs) runs.set(run.key, run);
    answers.set(message, begun.answers);
  }
  if (runs.size === 0) return answers;
  const inserted = await insertBegunCounters(pool, workspaceId, [...runs.values()], nowMs);
  for (const message of answers.keys()) if (!message.planned.every(({ key }) => inserted.has(key))) answers.delete(message);
  return answers;
}

/** Null: the message does more than to begin runs, or may not begin them. */
function begin(
  { holder, asker, isCrowded, isHeard, planned }: PlannedMessage,
  nowMs: number,
): { readonly runs: readonly BegunRun[]; readonly answers: AskAnswers } | null {
  if (isCrowded || !isHeard() || planned.length === 0 || !planned.every(begins)) return null;
  const runs: BegunRun[] = [];
  const answers = [];
  for (const { ask, key, settings } of planned) {
    const outcome = askLedger(freshCounter(nowMs), settings, { ...ask, holder }, nowMs);
    if ('falseClaim' in outcome || outcome.result.kind !== 'grant') return null;
    runs.push({ key, keyId: asker.keyId, state: outcome.state, keptUntilMs: keptUntilMs(outcome.state, settings) });
    answers.push({ counter: ask.counter, number: ask.number, result: outcome.result });
  }
  return new Set(runs.map(({ key }) => key)).size === runs.length ? { runs, answers: { answers, recalls: [], beyond: 0 } } : null;
}

/**
 * An ask that reports no used calls is treated as the first ask for its run, because a sidecar that asks for more
 * usually settles what it has used.
 */
const begins = ({ ask, instead, counts }: PlannedAsk): boolean => counts && instead === null && isFirst(ask);

const isFirst = ({ counter, onlySettles, made, settled }: QuotaAsk): boolean =>
  counter.kind === 'run' && !onlySettles && made === null && settled.length === 0;
