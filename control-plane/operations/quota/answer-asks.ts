// Answers the asks of several messages of one workspace in one short transaction. Each message is taken whole or not at
// all: one that lies changes nothing, and nothing for the others. What is answered is committed.
import type { QuotaAnswer, QuotaAsk, QuotaCounter } from '@tollgate/proto/contract';
import { askLedger, type CounterState, freshCounter, keptUntilMs } from '../../domain/quota/ledger.ts';
import { unauthenticated } from '../../domain/refusal.ts';
import type { QuotaPolicy } from '../../publish/quota-policy.ts';
import { insertCounters, lockCounters, type WrittenCounter, writeCounters } from '../../store/quota.ts';
import { inTransaction } from '../../store/transaction.ts';
import type { Deps } from '../operation.ts';
import { type Asker, type PlannedAsk, planAsk } from './plan-ask.ts';

export interface LeaseMessage {
  readonly workspaceId: number;
  /** SHA-256 of the secret that the process shows, in hex. */
  readonly holder: string;
  readonly asker: Asker;
  /** Its key has as many counters of runs as it may have: none is begun for it. */
  readonly isCrowded: boolean;
  /** Of good form: `asksProblem` found nothing. */
  readonly asks: readonly QuotaAsk[];
  readonly policy: QuotaPolicy;
  /** Who asked hears the answer, as far as anybody knows. */
  readonly isHeard: () => boolean;
}

export interface Recalled {
  readonly holder: string;
  readonly counter: QuotaCounter;
}

export type Answered =
  | {
      readonly answers: readonly QuotaAnswer[];
      readonly recalls: readonly Recalled[];
      /** How many asks were for what who asked may not ask for. */
      readonly beyond: number;
    }
  /** What cannot be true of the message. */
  | { readonly lie: string };

interface PlannedMessage {
  readonly holder: string;
  readonly asker: Asker;
  readonly isCrowded: boolean;
  readonly isHeard: () => boolean;
  readonly planned: readonly PlannedAsk[];
}

type States = Map<string, CounterState>;

/** The chore may remove a row between our making it and our locking it, once or twice. */
const looksMax = 4;

/** An answer for each message, in their order. All are of one workspace. */
export async function answerAsks(
  { pool }: Pick<Deps, 'pool'>,
  workspaceId: number,
  messages: readonly LeaseMessage[],
): Promise<readonly Answered[]> {
  const plans = messages.map(({ asks, policy, ...message }) => ({
    ...message,
    planned: asks.map((ask) => planAsk(policy, ask, message.asker)),
  }));
  const counting = plans.flatMap(({ planned }) => planned).filter(({ counts }) => counts);
  if (counting.length === 0) return plans.map((message) => answer(message, new Map(), 0));
  const keys = [...new Set(counting.map(({ key }) => key))];
  // Who only settles finds its row, or there is nothing to settle.
  const needed = new Map(
    plans.flatMap((message) =>
      beginsIn(message).map(({ key, ask }) => [key, ask.counter.kind === 'run' ? message.asker.keyId : null] as const),
    ),
  );
  for (let look = 0; look < looksMax; look += 1) {
    const outcome = await inTransaction(
      pool,
      async (client) => {
        const { rows, nowMs } = await lockCounters(client, workspaceId, keys);
        const before: States = new Map(rows.map(({ key, state }) => [key, state ?? freshCounter(nowMs)]));
        const missing = [...needed].filter(([key]) => !before.has(key));
        if (missing.length > 0) return { missing, written: [] };
        const states = new Map(before);
        const answered = plans.map((message) => answer(message, states, nowMs));
        const written = changesOf(before, states, counting);
        if (written.length > 0) await writeCounters(client, workspaceId, written);
        return { answered, written };
      },
      'write',
      // What changes nothing need not wait for the disk.
      ({ written }) => written.length > 0,
    );
    if ('answered' in outcome) return outcome.answered;
    await insertCounters(pool, workspaceId, outcome.missing);
  }
  throw unauthenticated('the workspace of this key is gone');
}

/** What of a message gets a row, where it has none. */
const beginsIn = ({ planned, isCrowded }: PlannedMessage): readonly PlannedAsk[] =>
  planned.filter(({ instead, ask }) => instead === null && !(isCrowded && ask.counter.kind === 'run'));

/** Where a key has too many counters: some of them go with time. */
const crowdedMs = 1_000;

/** Asks the ledger one by one, and keeps in `states` what came of it, unless any of it is a lie. */
function answer({ holder, isHeard, planned }: PlannedMessage, states: States, nowMs: number): Answered {
  // Its stream may have ended while it waited, as for a database that stood still: what it gives back is taken, and nobody
  // would use what it would be granted.
  const settlesAll = !isHeard();
  const changed: States = new Map();
  const answers: QuotaAnswer[] = [];
  const recalls: Recalled[] = [];
  let beyond = 0;
  for (const { ask, key, settings, instead, isBeyond, counts } of planned) {
    const state = counts ? states.get(key) : undefined;
    const { counter, number, waiting, made, settled } = ask;
    if (isBeyond) beyond += 1;
    if (state === undefined) {
      if (instead === null) beyond += 1;
      answers.push({ counter, number, result: instead ?? { kind: 'later', askAfterMs: crowdedMs } });
      continue;
    }
    const outcome = askLedger(
      state,
      settings,
      { holder, number, waiting, made, settled, onlySettles: settlesAll || instead !== null },
      nowMs,
    );
    if ('lie' in outcome) return outcome;
    changed.set(key, outcome.state);
    answers.push({ counter, number, result: instead ?? outcome.result });
    recalls.push(...outcome.recall.map((one) => ({ holder: one, counter })));
  }
  for (const [key, state] of changed) states.set(key, state);
  return { answers, recalls, beyond };
}

const made = ({ charges }: CounterState): number => charges.reduce((sum, [, count]) => sum + count, 0);

/** That time went on and took charges with it need not be written: the next one sees it as well. */
function changesOf(before: States, after: States, planned: readonly PlannedAsk[]): readonly WrittenCounter[] {
  const settings = new Map(planned.map((one) => [one.key, one.settings]));
  return [...after].flatMap(([key, state]) => {
    const was = before.get(key);
    const how = settings.get(key);
    const same =
      was !== undefined && was.nextGrant === state.nextGrant && was.grants.length === state.grants.length && made(was) >= made(state);
    return same || how === undefined ? [] : [{ key, state, keptUntilMs: keptUntilMs(state, how) }];
  });
}
