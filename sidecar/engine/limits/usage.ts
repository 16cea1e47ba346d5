// Counts what one run has used of its caps, and what its subject has used of its limits. `decide` reads these counts.
// `record` changes them after a decision.
import {
  type Decision,
  type Full,
  type LeasedCounter,
  type LimitSet,
  noLimits,
  type StopReason,
  type Undo,
  type Usage,
} from '../decide/decision.ts';
import type { Allowance, Counters } from './counters.ts';
import type { SharedRun } from './leases.ts';
import type { SharedRunCalls } from './shared-calls.ts';
import type { Retry } from './waiting.ts';

export interface RunUsage extends Usage {
  readonly shared: SharedRunCalls | null;
  /** Counts what the decision says must be counted. */
  record(decision: Decision, now: number): void;
  /** Returns the undo of the decision that was recorded last, at `recordedAt`. The decision must be an allow. */
  undoOf(decision: Decision, recordedAt: number): Undo;
  /** Tries a call again if its decision says that it may pass after a wait. */
  wait(awaits: readonly LeasedCounter[], now: number, until: number, retry: Retry): void;
  addRound(): void;
  addCost(cents: number): void;
  /** Ends the run. If it has already ended, the first reason is kept. */
  end(reason: StopReason): void;
  /** The first reason that ended the run. Null: the run has not ended. */
  readonly stopped: StopReason | null;
}

interface RunUsageConfig {
  readonly originSub: string;
  readonly startedAt: number;
  /**
   * Present if a caller names the run. The caller may then name the same run to other processes too. Absent: no other
   * process knows of the run.
   */
  readonly shared?: SharedRun | null;
  /** What the run has used before, in another process. Absent: nothing. */
  readonly used?: UsedCaps;
}

/** What a run has used of its caps. */
export interface UsedCaps {
  readonly toolCalls: number;
  readonly toolRounds: number;
  readonly spentCents: number;
  readonly stopped: StopReason | null;
}

export function createRunUsage(counters: Counters, config: RunUsageConfig): RunUsage {
  return new CountedRun(counters, config);
}

/** The number of microcents in one cent. Costs are counted in whole microcents, so that fractions add up exactly. */
export const microcents = 1_000_000;

// A class, because `decide` reads these fields on every call: objects have one shape, and there are no getters with
// closures.
class CountedRun implements RunUsage {
  readonly startedAt: number;
  toolCalls = 0;
  toolRounds = 0;
  spentCents = 0;
  stopped: StopReason | null = null;
  #spent = 0;
  readonly shared: SharedRunCalls | null;
  readonly #counters: Counters;
  readonly #enforced: Allowance;
  readonly #shadow: Allowance;

  constructor(counters: Counters, { originSub, startedAt, shared = null, used }: RunUsageConfig) {
    this.#counters = counters;
    this.shared = shared === null ? null : counters.sharedCalls(shared);
    this.#enforced = counters.allowanceOf(originSub, 'enforced');
    this.#shadow = counters.allowanceOf(originSub, 'shadow');
    this.startedAt = startedAt;
    if (used === undefined) return;
    this.toolCalls = used.toolCalls;
    this.toolRounds = used.toolRounds;
    this.stopped = used.stopped;
    this.addCost(used.spentCents);
  }

  firstFull(set: LimitSet, now: number): Full | null {
    return this.#enforced.firstFull(set, now);
  }

  firstFullShadow(set: LimitSet, now: number): Full | null {
    return this.#shadow.firstFull(set, now);
  }

  record(decision: Decision, now: number): void {
    if (decision.attempt) this.toolCalls += 1;
    // After a cap has ended the run, no more calls are taken from the shared counter.
    if (this.shared !== null && decision.attempt && decision.stop === null) this.shared.take(now);
    if (decision.limits !== noLimits) this.#enforced.charge(decision.limits, now);
    if (decision.shadowLimits !== noLimits) this.#shadow.charge(decision.shadowLimits, now);
    if (decision.stop !== null) this.end(decision.stop);
  }

  undoOf({ attempt, limits, shadowLimits }: Decision, recordedAt: number): Undo {
    const shared = attempt ? this.shared?.undoOf(recordedAt) : undefined;
    const enforced = limits === noLimits ? undefined : this.#enforced.undoOf(limits, recordedAt);
    const shadow = shadowLimits === noLimits ? undefined : this.#shadow.undoOf(shadowLimits, recordedAt);
    return (now) => {
      if (attempt) this.toolCalls -= 1;
      shared?.(now);
      enforced?.(now);
      shadow?.(now);
    };
  }

  wait(awaits: readonly LeasedCounter[], now: number, until: number, retry: Retry): void {
    this.#counters.wait(awaits, now, until, retry);
  }

  addRound(): void {
    this.toolRounds += 1;
  }

  addCost(cents: number): void {
    this.#spent += Math.round(cents * microcents);
    this.spentCents = this.#spent / microcents;
  }

  end(reason: StopReason): void {
    this.stopped ??= reason;
  }
}
