// What one run has used of its caps, and its subject of its limits. `decide` reads it; `record` is told what it decided.
import type { Decision, StopReason, Usage } from '../decide/decision.ts';
import type { Allowance, Counters } from './counters.ts';

export interface RunUsage extends Usage {
  /** Counts what the decision says is to be counted. */
  record(decision: Decision, now: number): void;
  addRound(): void;
  addCost(cents: number): void;
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

// A class, because `decide` reads these fields on every call: one shape, no getters behind closures.
class CountedRun implements RunUsage {
  readonly startedAt: number;
  toolCalls = 0;
  toolRounds = 0;
  spentCents = 0;
  stopped: StopReason | null = null;
  readonly #counters: Counters;
  readonly #originSub: string;

  constructor(counters: Counters, originSub: string, startedAt: number) {
    this.#counters = counters;
    this.#originSub = originSub;
    this.startedAt = startedAt;
  }

  // Asked for at every use: a ledger that was swept while idle must not be counted in any more.
  #allowance(fold: 'enforced' | 'shadow'): Allowance {
    return this.#counters.allowanceOf(this.#originSub, fold);
  }

  firstFull: Usage['firstFull'] = (limits, now) => this.#allowance('enforced').firstFull(limits, now);

  firstFullShadow: Usage['firstFullShadow'] = (limits, now) => this.#allowance('shadow').firstFull(limits, now);

  record(decision: Decision, now: number): void {
    if (decision.attempt) this.toolCalls += 1;
    if (decision.limits.length > 0) this.#allowance('enforced').charge(decision.limits, now);
    if (decision.shadowLimits.length > 0) this.#allowance('shadow').charge(decision.shadowLimits, now);
    if (decision.stop !== null) this.stopped ??= decision.stop;
  }

  addRound(): void {
    this.toolRounds += 1;
  }

  addCost(cents: number): void {
    this.spentCents += cents;
  }
}
