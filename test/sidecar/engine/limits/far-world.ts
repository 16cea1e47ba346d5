// Sidecars whose control plane is far away, in virtual time and without faults. They share limits that are called in
// turn or at once. Everything but the transport is the product's own code: the lease keepers, the recalls, the ledger.
import { askLedger, type CounterState, freshCounter } from '../../../../control-plane/quota/rules/ledger.ts';
import { isStillWaiting } from '../../../../control-plane/quota/operations/answer-asks.ts';
import { ContendedCounters } from '../../../../control-plane/quota/operations/contended-counters.ts';
import { createRecalls } from '../../../../control-plane/quota/operations/recalls.ts';
import { type OnRecall, type QuotaAnswer, type QuotaAsk, quotaCounterKey } from '../../../../proto/contract/index.ts';
import type { LimitSet } from '../../../../sidecar/engine/decide/decision.ts';
import { createLeasedCounters } from '../../../../sidecar/engine/limits/leased-counters.ts';
import { keepLeases } from '../../../../sidecar/engine/link/lease-keeper.ts';
import { randomFrom } from '../../../support/random.ts';

export interface FarPlan {
  readonly seed: number;
  readonly roundTripMs: number;
  readonly waitMs: number;
  /** How long a transaction of the ledger takes. */
  readonly commitMs: number;
  readonly limit: number;
  readonly order: 'in turn' | 'at once';
  readonly sidecars: number;
  /** Limits that are called at the same time. */
  readonly countersAtOnce: number;
  readonly counters: number;
}

export interface FarReport {
  /** Calls that came while fewer than the limit were admitted. */
  readonly withCapacity: number;
  readonly admitted: number;
  /** Calls admitted beyond a limit. */
  readonly beyond: number;
  readonly asks: number;
}

interface LaneMessage {
  readonly note: () => void;
  readonly answer: () => void;
}

const windowSeconds = 60;
/** A call's way to a sidecar. */
const callMs = 1;

export async function playFar(plan: FarPlan): Promise<FarReport> {
  const random = randomFrom(plan.seed);
  let now = 0;
  let order = 0;
  const events: { readonly at: number; readonly order: number; readonly run: () => void; isCancelled: boolean }[] = [];
  const at = (time: number, run: () => void) => {
    const event = { at: Math.max(now, time), order: (order += 1), run, isCancelled: false };
    const place = events.findLastIndex((other) => other.at <= event.at) + 1;
    events.splice(place, 0, event);
    return event;
  };
  const clock = {
    now: () => now,
    after: (ms: number, run: () => void) => {
      const event = at(now + ms, run);
      return { cancel: () => void (event.isCancelled = true), unref: () => undefined };
    },
  };

  const states = new Map<string, CounterState>();
  let asked = 0;
  const contended = new ContendedCounters(() => now);
  const recalls = createRecalls({ pool: undefined as never, now: () => now, log: { warn: () => undefined } });
  const answerOf = (holder: string, { counter, ...ask }: QuotaAsk) => {
    const key = quotaCounterKey(counter);
    const settings = { kind: 'window', windowSeconds, max: plan.limit } as const;
    const othersWaiting = contended.othersWaiting(key, holder);
    const outcome = askLedger(states.get(key) ?? freshCounter(1e9), settings, { ...ask, holder, othersWaiting }, 1e9 + now);
    if ('falseClaim' in outcome) throw new Error(outcome.falseClaim);
    contended.note(key, holder, isStillWaiting(ask.waiting, outcome.result));
    states.set(key, outcome.state);
    asked += 1;
    recalls.send(
      1,
      outcome.recall.map((one) => ({ ...one, counter })),
    );
    return { counter, number: ask.number, result: outcome.result };
  };

  // Messages that arrive during a transaction share the next one.
  let lane: LaneMessage[] = [];
  let isCommitting = false;
  const commitLater = (message: LaneMessage): void => {
    lane.push(message);
    if (isCommitting) return;
    isCommitting = true;
    const commit = (): void => {
      const batch = lane;
      lane = [];
      at(now + plan.commitMs, () => {
        for (const { note } of batch) note();
        for (const { answer } of batch) answer();
        isCommitting = lane.length > 0;
        if (isCommitting) commit();
      });
    };
    commit();
  };

  const way = plan.roundTripMs / 2;
  const sidecars = Array.from({ length: plan.sidecars }, (_, place) => {
    const holder = `sidecar-${place}`;
    const keeper = keepLeases({
      clock,
      random,
      soon: (run) => void at(now, run),
      log: { info: () => undefined },
      waitMs: plan.waitMs,
      open: (hearing) => {
        const onRecall: OnRecall = (counters) => void at(now + way, () => hearing.recalled(counters));
        const detach = recalls.attach(1, holder, onRecall);
        at(now + plan.roundTripMs, hearing.opened);
        return {
          ask: (asks) =>
            new Promise<readonly QuotaAnswer[]>((done) => {
              at(now + way, () =>
                commitLater({
                  note: () => {
                    for (const { counter, waiting } of asks) if (waiting > 0) contended.note(quotaCounterKey(counter), holder, true);
                  },
                  answer: () => {
                    const answers = asks.map((ask) => answerOf(holder, ask));
                    at(now + way, () => done(answers));
                  },
                }),
              );
            }),
          close: detach,
        };
      },
    });
    keeper.leases.policyChanged({ epoch: 'e', number: 1 }, now);
    keeper.retryNow();
    const counters = createLeasedCounters(keeper.leases, windowSeconds);
    const allowance = counters.allowanceOf('ann', 'enforced');
    const call = (set: LimitSet): Promise<boolean> =>
      new Promise((done) => {
        const weigh = (): ReturnType<typeof allowance.firstFull> => {
          const full = allowance.firstFull(set, now);
          if (full === null) allowance.charge(set, now);
          return full;
        };
        const first = weigh();
        const awaits = first?.awaits ?? null;
        if (awaits === null) return done(first === null);
        counters.wait(awaits, now, Number.POSITIVE_INFINITY, (isLast) => {
          const full = weigh();
          const still = full?.awaits ?? null;
          if (isLast || still === null) done(full === null);
          return still;
        });
      });
    return { call, sets: new Map<string, LimitSet>() };
  });

  const ask = async (turn: number, id: string): Promise<boolean> => {
    await new Promise<void>((done) => void at(now + callMs, done));
    const sidecar = sidecars[turn % sidecars.length];
    if (sidecar === undefined) throw new Error('there is no sidecar');
    const set = sidecar.sets.get(id) ?? { limits: [{ id, max: plan.limit, layer: 'workspace', path: id }], found: null };
    sidecar.sets.set(id, set);
    return sidecar.call(set);
  };

  let [withCapacity, admitted, beyond, next, isDone] = [0, 0, 0, 0, 0];
  const callsEach = plan.limit + Math.max(2, Math.ceil(plan.limit / 4));
  const work = async (): Promise<void> => {
    while (next < plan.counters) {
      const id = `tool-${(next += 1)}`;
      let passed = 0;
      if (plan.order === 'at once') {
        const all = await Promise.all(Array.from({ length: callsEach }, (_, call) => ask(call, id)));
        passed = all.filter(Boolean).length;
        withCapacity += plan.limit;
      } else
        for (let call = 0; call < callsEach; call += 1) {
          if (passed < plan.limit) withCapacity += 1;
          if (await ask(call, id)) passed += 1;
        }
      admitted += Math.min(passed, plan.limit);
      beyond += Math.max(0, passed - plan.limit);
    }
    isDone += 1;
  };
  at(1_000, () => {
    for (let worker = 0; worker < plan.countersAtOnce; worker += 1) void work();
  });

  while (isDone < plan.countersAtOnce) {
    const event = events.shift();
    if (event === undefined) throw new Error('nothing is left to happen');
    now = event.at;
    if (!event.isCancelled) event.run();
    for (let turn = 0; turn < 6; turn += 1) await Promise.resolve();
  }
  return { withCapacity, admitted, beyond, asks: asked };
}
