// Answers the asks of several messages of one workspace in one short transaction. Each message is accepted whole or
// rejected whole. A message with false statements changes nothing and does not affect the other messages. Everything
// that is answered is committed.
import type { QuotaAnswer, QuotaResult } from '@tollgate/proto/contract';
import { askLedger, type CounterState, freshCounter, keptUntilMs } from '../rules/ledger.ts';
import { unauthenticated } from '../../base/refusal.ts';
import { insertCounters, lockCounters, type WrittenCounter, writeCounters } from '../store.ts';
import { inTransaction } from '../../database/transaction.ts';
import type { OperationDeps } from '../../access/operation.ts';
import { beginRuns, type DatabaseTime } from './begin-runs.ts';
import type { ContendedCounters } from './contended-counters.ts';
import type { AskAnswers, GrantRecall, LeaseMessage, PlannedMessage } from './lease-message.ts';
import { type PlannedAsk, planAsk } from './plan-ask.ts';

type States = Map<string, CounterState>;

/**
 * The maximum number of tries to insert and lock the rows. Between the two steps, the periodic job can delete a row.
 * This can happen once or twice.
 */
const looksMax = 4;

interface AnsweringParts extends Pick<OperationDeps, 'pool'> {
  readonly contended: ContendedCounters;
  readonly databaseTime: DatabaseTime;
}

/** Returns one answer for each message, in the same order. All messages must be of one workspace. */
export async function answerAsks(
  parts: AnsweringParts,
  workspaceId: number,
  messages: readonly LeaseMessage[],
): Promise<readonly AskAnswers[]> {
  const plans = messages.map(({ asks, policy, ...message }) => ({
    ...message,
    planned: asks.map((ask) => planAsk(policy, ask, message.asker)),
  }));
  const { nowMs } = parts.databaseTime;
  const begun = nowMs === null ? new Map<PlannedMessage, AskAnswers>() : await beginRuns(parts, workspaceId, plans, nowMs);
  const others = plans.filter((message) => !begun.has(message));
  const answered = others.length === 0 ? [] : await answerInTransaction(parts, workspaceId, others);
  const byMessage = new Map([...begun, ...others.map((message, at) => [message, answered[at]] as const)]);
  return plans.map((message) => byMessage.get(message) ?? unanswered());
}

function unanswered(): never {
  throw new Error('every message must get an answer to its lease requests, but a message has none');
}

async function answerInTransaction(
  { pool, contended, databaseTime }: AnsweringParts,
  workspaceId: number,
  plans: readonly PlannedMessage[],
): Promise<readonly AskAnswers[]> {
  const counting = plans.flatMap(({ planned }) => planned).filter(({ counts }) => counts);
  if (counting.length === 0) return plans.map((message) => answer(contended, message, new Map(), 0));
  const keys = [...new Set(counting.map(({ key }) => key))];
  // An ask that only settles needs an existing row. Without a row, there is nothing to settle.
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
        if (rows.length > 0) databaseTime.heard(nowMs);
        const before: States = new Map(rows.map(({ key, state }) => [key, state ?? freshCounter(nowMs)]));
        const missing = [...needed].filter(([key]) => !before.has(key));
        if (missing.length > 0) return { missing, written: [] };
        const states = new Map(before);
        noteWaiting(contended, plans);
        const answered = plans.map((message) => answer(contended, message, states, nowMs));
        const written = changesOf(before, states, counting);
        if (written.length > 0) await writeCounters(client, workspaceId, written);
        return { answered, written };
      },
      'write',
      // A transaction that changes nothing need not wait for the disk.
      ({ written }) => written.length > 0,
    );
    if ('answered' in outcome) return outcome.answered;
    await insertCounters(pool, workspaceId, outcome.missing);
  }
  throw unauthenticated('the workspace of this key no longer exists');
}

/** Returns the asks of a message for whose counters a row is created if there is none. */
const beginsIn = ({ planned, isCrowded }: PlannedMessage): readonly PlannedAsk[] =>
  planned.filter(({ instead, ask }) => instead === null && !(isCrowded && ask.counter.kind === 'run'));

/**
 * The delay in ms before a sidecar asks again when its key has too many counters. Some of the counters are deleted with
 * time.
 */
const crowdedMs = 1_000;

/**
 * Notes all waiting calls before the first message is answered. The first message therefore leaves a share to the other
 * messages of the same transaction that have waiting calls.
 */
function noteWaiting(contended: ContendedCounters, plans: readonly PlannedMessage[]): void {
  for (const { workspaceId, holder, planned } of plans)
    for (const { ask, key, instead } of planned)
      if (ask.waiting > 0 && instead === null) contended.note(counterName(workspaceId, key), holder, true);
}

const counterName = (workspaceId: number, key: string): string => `${workspaceId} ${key}`;

/** Returns whether calls of the sidecar still wait after this answer. */
export const isStillWaiting = (waiting: number, result: QuotaResult): boolean =>
  waiting > 0 && (result.kind === 'later' || (result.kind === 'grant' && result.tokens < waiting));

/**
 * Passes the asks of a message to the ledger, one after the other. Stores the new states in `states`, except if any of
 * the asks is false.
 */
function answer(
  contended: ContendedCounters,
  { workspaceId, holder, isHeard, planned }: PlannedMessage,
  states: States,
  nowMs: number,
): AskAnswers {
  // The stream of the holder may have ended while the message waited, for example during a stall of the database. Then
  // the ledger accepts what the holder returns, but grants nothing, because a grant would not be used.
  const settlesAll = !isHeard();
  const changed: States = new Map();
  const answers: QuotaAnswer[] = [];
  const recalls: GrantRecall[] = [];
  let beyond = 0;
  for (const { ask, key, settings, instead, isBeyond, counts } of planned) {
    const state = counts ? states.get(key) : undefined;
    const { counter, number, waiting, made, settled } = ask;
    if (isBeyond) beyond += 1;
    if (state === undefined) {
      if (instead === null) beyond += 1;
      answers.push({ counter, number, result: instead ?? { kind: 'later', askAfterMs: crowdedMs, held: false } });
      continue;
    }
    const name = counterName(workspaceId, key);
    const othersWaiting = contended.othersWaiting(name, holder);
    const onlySettles = settlesAll || instead !== null;
    const outcome = askLedger(state, settings, { holder, number, waiting, made, settled, onlySettles, othersWaiting }, nowMs);
    if ('falseClaim' in outcome) {
      for (const one of planned) contended.note(counterName(workspaceId, one.key), holder, false);
      return outcome;
    }
    contended.note(name, holder, !onlySettles && isStillWaiting(waiting, outcome.result));
    changed.set(key, outcome.state);
    answers.push({ counter, number, result: instead ?? outcome.result });
    recalls.push(...outcome.recall.map((one) => ({ ...one, counter })));
  }
  for (const [key, state] of changed) states.set(key, state);
  return { answers, recalls, beyond };
}

const made = ({ charges }: CounterState): number => charges.reduce((sum, [, count]) => sum + count, 0);

const hasSameGrants = (was: CounterState, state: CounterState): boolean =>
  was.grants.length === state.grants.length && was.grants.every((grant, at) => grant === state.grants[at]);

/**
 * Returns the counters that must be written. If only expired charges were removed from a counter, it need not be
 * written, because the next reader removes them as well.
 */
function changesOf(before: States, after: States, planned: readonly PlannedAsk[]): readonly WrittenCounter[] {
  const settings = new Map(planned.map((one) => [one.key, one.settings]));
  return [...after].flatMap(([key, state]) => {
    const was = before.get(key);
    const how = settings.get(key);
    const same = was !== undefined && was.nextGrant === state.nextGrant && hasSameGrants(was, state) && made(was) >= made(state);
    return same || how === undefined ? [] : [{ key, state, keptUntilMs: keptUntilMs(state, how) }];
  });
}
