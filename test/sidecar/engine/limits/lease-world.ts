// A ledger and several sidecars in virtual time, with a network between them that follows a plan: it delays, reorders,
// loses, doubles and cuts messages, and either side can die. The ledger is the control plane's and the leases are the
// sidecar's. Only the transport of their messages is part of the test.
import {
  askLedger,
  type CounterSettings,
  type CounterState,
  freshCounter,
  type RecalledHolder,
} from '../../../../control-plane/quota/rules/ledger.ts';
import type { QuotaAnswer, QuotaAsk } from '../../../../proto/contract/index.ts';
import type { LimitSet } from '../../../../sidecar/engine/decide/decision.ts';
import { createLeasedCounters } from '../../../../sidecar/engine/limits/leased-counters.ts';
import { Leases } from '../../../../sidecar/engine/limits/leases.ts';
import { randomFrom } from '../../../support/random.ts';

export interface Faults {
  /** Probabilities for messages, 0 to 1. */
  readonly lost: number;
  readonly doubled: number;
  /** The maximum delay of a message. Each message has its own delay, so messages can overtake each other. */
  readonly delayMs: number;
  /** How often a second each of these happens. */
  readonly cuts: number;
  readonly holderCrashes: number;
  readonly ledgerCrashes: number;
  readonly policies: number;
  readonly clockStepsBack: number;
}

export const noFaults: Faults = {
  lost: 0,
  doubled: 0,
  delayMs: 2,
  cuts: 0,
  holderCrashes: 0,
  ledgerCrashes: 0,
  policies: 0,
  clockStepsBack: 0,
};

export interface WorldPlan {
  readonly seed: number;
  readonly holders: number;
  readonly windowSeconds: number;
  readonly max: number;
  /** The rate of all sidecars together. */
  readonly callsPerSecond: number;
  readonly faults: Faults;
  /** The time after which nothing fails any more. */
  readonly healsAtMs: number;
  readonly endsAtMs: number;
}

/** A call, in real time, and the limit that its sidecar knew then. */
interface AdmittedCall {
  readonly at: number;
  readonly max: number;
}

export interface LeaseWorldReport {
  /** When calls came, and when they were admitted, in real time. */
  readonly calls: readonly number[];
  readonly admitted: readonly AdmittedCall[];
  readonly messages: number;
  readonly falseClaims: readonly string[];
}

interface Event {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

const tickMs = 50;

/**
 * A wrong ledger, which the tests must detect. `returnsTwice`: a grant that is settled twice is returned twice.
 * `recallsWithoutWaiting`: a recalled grant counts as returned before its holder has returned it.
 */
export type Mutant = 'returnsTwice' | 'recallsWithoutWaiting';

export function playWorld(plan: WorldPlan, mutant: Mutant | null = null): LeaseWorldReport {
  const { holders, windowSeconds, faults, healsAtMs, endsAtMs } = plan;
  const random = randomFrom(plan.seed);
  const between = (min: number, max: number): number => min + random() * (max - min);
  const events = createQueue();
  let now = 0;
  const at = (time: number, run: () => void): void => events.put(Math.max(time, now), run);
  const fails = (chance: number): boolean => now < healsAtMs && random() < chance;

  // === Policy
  let policy = { number: 1, max: plan.max };

  // === The ledger
  const ledgerAhead = between(1e9, 1e12);
  let stepsBackMs = 0;
  let state: CounterState = freshCounter(ledgerAhead);
  const falseClaims: string[] = [];
  let heard = policy;

  const answer = (holder: string, ask: QuotaAsk): { readonly answer: QuotaAnswer; readonly recall: readonly string[] } => {
    const { counter, number, waiting, onlySettles, settled, revision } = ask;
    const settings: CounterSettings = { kind: 'window', windowSeconds, max: heard.max };
    const notHeard = revision.number > heard.number && !onlySettles;
    const outcome = askLedger(
      state,
      settings,
      { holder, number, waiting, made: null, settled, onlySettles: onlySettles || notHeard },
      now + ledgerAhead - stepsBackMs,
    );
    if ('falseClaim' in outcome) {
      falseClaims.push(outcome.falseClaim);
      return { answer: { counter, number, result: { kind: 'taken' } }, recall: [] };
    }
    state = mutant === null ? outcome.state : mutated(mutant, { before: state, after: outcome.state, ask, recall: outcome.recall });
    const result = notHeard ? ({ kind: 'later', askAfterMs: 30, held: false } as const) : outcome.result;
    return { answer: { counter, number, result }, recall: outcome.recall.map(({ holder: one }) => one) };
  };

  // === The sidecars
  const calls: number[] = [];
  const admitted: AdmittedCall[] = [];
  let messages = 0;
  let boots = 0;
  const sidecars = Array.from({ length: holders }, startSidecar);

  function startSidecar(): Sidecar {
    const boot = `boot-${(boots += 1)}`;
    const ahead = between(0, 1e6);
    let ticks = false;
    const leases = new Leases({ onUrgent: () => at(now, () => tick()), onActive: () => wake(), onWaited: () => undefined });
    const counters = createLeasedCounters(leases, windowSeconds);
    const allowance = counters.allowanceOf('ann', 'enforced');
    const setOf = (max: number): LimitSet => ({ limits: [{ id: 'a', max, layer: 'workspace', path: 'a' }], found: null });
    let held = policy.number;
    let known = policy.max;
    let set = setOf(known);
    let isDead = false;
    const time = (): number => now + ahead;

    const tick = (): void => {
      if (isDead) return;
      leases.endWaits(time());
      if (leases.isSilent(time(), 3_000)) {
        leases.lost(time());
        at(now + between(0, 100), () => {
          if (!isDead) leases.opened();
        });
      }
      const asks = leases.asks(time());
      if (asks.length > 0) {
        messages += 1;
        carry(sidecar, () => {
          for (const ask of asks) {
            const { answer: answered, recall } = answer(boot, ask);
            for (const other of sidecars) if (recall.includes(other.boot)) carry(other, () => other.recalled([ask]));
            if (!fails(faults.ledgerCrashes * 0.05)) carry(sidecar, () => sidecar.answered([answered]));
          }
        });
      }
      wake();
    };
    const wake = (): void => {
      if (ticks || isDead || (leases.size === 0 && leases.wakesAt === null)) return;
      ticks = true;
      const wakesAt = (leases.wakesAt ?? Number.POSITIVE_INFINITY) - ahead;
      at(Math.min(now + tickMs, Math.max(now + 1, wakesAt)), () => {
        ticks = false;
        tick();
      });
    };
    const weigh = (): ReturnType<typeof allowance.firstFull> => {
      const full = allowance.firstFull(set, time());
      if (full === null) {
        allowance.charge(set, time());
        admitted.push({ at: now, max: known });
      }
      return full;
    };
    const sidecar: Sidecar = {
      boot,
      cut: false,
      call: () => {
        const awaits = weigh()?.awaits ?? null;
        if (awaits !== null) leases.wait(awaits, time(), Number.POSITIVE_INFINITY, () => (isDead ? null : (weigh()?.awaits ?? null)));
      },
      answered: (answers) => {
        if (!isDead) leases.answered(answers, time());
      },
      recalled: (asks) => {
        if (!isDead)
          leases.recalled(
            asks.map(({ counter }) => counter),
            time(),
          );
      },
      learn: ({ number, max }) => {
        if (isDead || number <= held) return;
        held = number;
        known = max;
        set = setOf(max);
        leases.policyChanged({ epoch: 'e', number }, time());
      },
      open: () => leases.opened(),
      lose: () => leases.lost(time()),
      die: () => {
        isDead = true;
      },
    };
    leases.policyChanged({ epoch: 'e', number: policy.number }, time());
    leases.opened();
    return sidecar;
  }

  // === The network between them
  function carry(sidecar: Sidecar, deliver: () => void): void {
    const times = fails(faults.doubled) ? 2 : 1;
    for (let copy = 0; copy < times; copy += 1) {
      if (sidecar.cut || fails(faults.lost)) continue;
      at(now + between(0.1, now < healsAtMs ? faults.delayMs : noFaults.delayMs), () => {
        if (!sidecar.cut) deliver();
      });
    }
  }

  const sometimes = (perSecond: number, run: () => void): void => {
    if (perSecond === 0) return;
    const next = (): void => {
      const wait = (-Math.log(1 - random()) / perSecond) * 1000;
      if (now + wait < healsAtMs)
        at(now + wait, () => {
          run();
          next();
        });
    };
    next();
  };
  const anyone = (): number => Math.floor(random() * holders);

  sometimes(faults.cuts, () => {
    const sidecar = sidecars[anyone()];
    if (sidecar === undefined || sidecar.cut) return;
    sidecar.cut = true;
    const isNoticed = random() < 0.5;
    if (isNoticed) sidecar.lose();
    at(Math.min(healsAtMs, now + between(10, 4_000)), () => {
      sidecar.cut = false;
      if (isNoticed) sidecar.open();
    });
  });
  sometimes(faults.holderCrashes, () => {
    const which = anyone();
    sidecars[which]?.die();
    sidecars[which] = startSidecar();
  });
  sometimes(faults.clockStepsBack, () => {
    stepsBackMs += between(1, 1_500);
  });
  sometimes(faults.policies, () => {
    policy = { number: policy.number + 1, max: Math.max(0, Math.round(plan.max * between(0.2, 2))) };
    const learned = policy;
    at(now + between(0, 300), () => {
      if (heard.number < learned.number) heard = learned;
    });
    for (const sidecar of sidecars) at(now + between(0, random() < 0.2 ? 6_000 : 1_000), () => sidecar.learn(learned));
  });
  // A sidecar that missed a change, or received changes in the wrong order, receives the final one.
  at(healsAtMs, () => {
    if (heard.max !== plan.max || policy.number > 1) {
      policy = { number: policy.number + 1, max: plan.max };
      heard = policy;
      for (const sidecar of sidecars) sidecar.learn(policy);
    }
  });

  const callsMeanMs = 1_000 / plan.callsPerSecond;
  const arrive = (): void => {
    calls.push(now);
    sidecars[anyone()]?.call();
    // Calls come in bursts, as agents work.
    at(now + (random() < 0.3 ? 0 : -Math.log(1 - random()) * callsMeanMs * 1.4), arrive);
  };
  at(between(0, 1_000), arrive);

  for (;;) {
    const event = events.take();
    if (event === null || event.at > endsAtMs) break;
    now = event.at;
    event.run();
  }
  return { calls, admitted, messages, falseClaims };
}

interface Answered {
  readonly before: CounterState;
  readonly after: CounterState;
  readonly ask: QuotaAsk;
  readonly recall: readonly RecalledHolder[];
}

function mutated(mutant: Mutant, { before, after, ask, recall }: Answered): CounterState {
  if (mutant === 'recallsWithoutWaiting')
    return { ...after, grants: after.grants.filter(({ holder }) => !recall.some((one) => one.holder === holder)) };
  const isRepeated = ask.settled.some(({ grantId }) => !before.grants.some(({ id }) => id === grantId));
  return isRepeated ? { ...after, charges: after.charges.slice(1) } : after;
}

interface Sidecar {
  readonly boot: string;
  cut: boolean;
  call(): void;
  answered(answers: readonly QuotaAnswer[]): void;
  recalled(asks: readonly QuotaAsk[]): void;
  learn(policy: { readonly number: number; readonly max: number }): void;
  open(): void;
  lose(): void;
  die(): void;
}

/** A heap, ordered by time and then by insertion. */
function createQueue() {
  const heap: Event[] = [];
  let order = 0;
  const isBefore = (a: Event, b: Event): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);
  const swap = (a: number, b: number): void => {
    [heap[a], heap[b]] = [heap[b] as Event, heap[a] as Event];
  };
  const before = (a: number, b: number): boolean => isBefore(heap[a] as Event, heap[b] as Event);
  return {
    put: (at: number, run: () => void): void => {
      heap.push({ at, run, order: (order += 1) });
      for (let child = heap.length - 1; child > 0; ) {
        const parent = (child - 1) >> 1;
        if (!before(child, parent)) return;
        swap(child, parent);
        child = parent;
      }
    },
    take: (): Event | null => {
      const [first] = heap;
      if (first === undefined) return null;
      const last = heap.pop() as Event;
      if (heap.length === 0) return first;
      heap[0] = last;
      for (let parent = 0; ; ) {
        const [left, right] = [2 * parent + 1, 2 * parent + 2];
        let least = parent;
        if (left < heap.length && before(left, least)) least = left;
        if (right < heap.length && before(right, least)) least = right;
        if (least === parent) return first;
        swap(parent, least);
        parent = least;
      }
    },
  };
}

/**
 * Returns the first window that holds more than the highest limit of its own calls, if there is one. A window covers
 * calls in `[from, from + windowSeconds)`.
 */
export function crowdedWindow({ admitted }: Pick<LeaseWorldReport, 'admitted'>, windowSeconds: number): string | null {
  const sorted = admitted.toSorted((a, b) => a.at - b.at);
  let end = 0;
  for (const [first, { at: from }] of sorted.entries()) {
    while (end < sorted.length && (sorted[end]?.at ?? 0) < from + windowSeconds * 1_000) end += 1;
    const max = Math.max(...sorted.slice(first, end).map((call) => call.max));
    if (end - first > max) return `${end - first} calls from ${from.toFixed(0)} ms on, where ${max} may be`;
  }
  return null;
}
