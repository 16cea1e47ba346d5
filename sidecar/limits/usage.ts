// What one run has used of its caps, and its subject of its limits. `decide` reads it; `record` is told what it decided.
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
import type { SharedRun, SharedRunCalls } from './shared-calls.ts';
import type { Retry } from './waiting.ts';

export interface RunUsage extends Usage {
  readonly shared: SharedRunCalls | null;
  /** Counts what the decision says is to be counted. */
  record(decision: Decision, now: number): void;
  /** Of the decision that was recorded last, at `recordedAt`: one that allows. */
  undoOf(decision: Decision, recordedAt: number): Undo;
  /** Tries a call again that a decision says may pass after a wait. */
  wait(awaits: readonly LeasedCounter[], now: number, until: number, retry: Retry): void;
  addRound(): void;
  addCost(cents: number): void;
  /** It may not go on; the first reason stays. */
  end(reason: StopReason): void;
  /** The cap that ended the run, once one did. */
  readonly stopped: StopReason | null;
}

interface RunUsageConfig {
  readonly originSub: string;
  readonly startedAt: number;
  /** Where a caller names the run, and may name it to others as well; absent: nobody else knows of it. */
  readonly shared?: SharedRun | null;
}

export function createRunUsage(counters: Counters, config: RunUsageConfig): RunUsage {
  return new CountedRun(counters, config);
}

/** In one cent: costs are counted in whole ones, so that fractions add up to what they are. */
export const microcents = 1_000_000;

// A class, because `decide` reads these fields on every call: one shape, no getters behind closures.
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

  constructor(counters: Counters, { originSub, startedAt, shared = null }: RunUsageConfig) {
    this.#counters = counters;
    this.shared = shared === null ? null : counters.sharedCalls(shared);
    this.#enforced = counters.allowanceOf(originSub, 'enforced');
    this.#shadow = counters.allowanceOf(originSub, 'shadow');
    this.startedAt = startedAt;
  }

  firstFull(set: LimitSet, now: number): Full | null {
    return this.#enforced.firstFull(set, now);
  }

  firstFullShadow(set: LimitSet, now: number): Full | null {
    return this.#shadow.firstFull(set, now);
  }

  record(decision: Decision, now: number): void {
    if (decision.attempt) this.toolCalls += 1;
    // A cap that ended the run counts nothing any more.
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
