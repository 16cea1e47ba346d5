// What one run has used of its caps, and its subject of its limits. `decide` reads it; `record` is told what it decided.
import { type Decision, type LimitSet, noLimits, type StopReason, type Usage } from '../decide/decision.ts';
import type { Allowance, Counters, Full } from './counters.ts';

export interface RunUsage extends Usage {
  /** Counts what the decision says is to be counted. */
  record(decision: Decision, now: number): void;
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
}

export function createRunUsage(counters: Counters, { originSub, startedAt }: RunUsageConfig): RunUsage {
  return new CountedRun(counters, originSub, startedAt);
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
  readonly #enforced: Allowance;
  readonly #shadow: Allowance;

  constructor(counters: Counters, originSub: string, startedAt: number) {
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
    if (decision.limits !== noLimits) this.#enforced.charge(decision.limits, now);
    if (decision.shadowLimits !== noLimits) this.#shadow.charge(decision.shadowLimits, now);
    if (decision.stop !== null) this.end(decision.stop);
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
