// Defines a decision. Decisions about the same caller and tool are the same frozen objects if only counters differ.
// Therefore deciding allocates no memory.
import type { DenyKind, EntryRule, Layer, Part, QuotaCounter, ReasonCode, Transform } from '@tollgate/proto/contract';

export type StopReason = 'max_tool_calls' | 'max_rounds' | 'max_duration' | 'max_budget';

/** A limit that a rule sets, and which calls count towards it. */
export interface Limit {
  /** `<document key> <path>`. Calls of one `originSub` under the same id share one allowance. */
  readonly id: string;
  readonly max: number;
  readonly layer: Layer;
  readonly part?: Part;
  readonly path: string;
  readonly override?: true;
}

/** The calls that are charged to one limit, in steps of one second. */
export interface ChargedWindow {
  used(step: number): number;
  add(step: number): void;
  /** Removes one call that was added in this step. */
  remove(step: number): void;
  waitFor(max: number, now: number): number | null;
}

/**
 * Calls that this process may make without a request to the ledger: its share of a counter that other processes use
 * too.
 */
export interface LeasedCounter {
  readonly counter: QuotaCounter;
  hasCapacity(now: number): boolean;
  take(now: number): void;
  /**
   * For the call that was taken last, at `takenAt`: returns a function that puts it back, if that is still possible.
   */
  undoOf(takenAt: number): Undo;
}

/** Removes what one call has counted. Call it at most once. */
export type Undo = (now: number) => void;

/**
 * Limits of one caller and tool, from broad to specific. All of them must have calls left. Only `limits/` uses `found`:
 * it caches what it looked up for these limits, so that a repeated call needs no lookup. One of `windows` and `leases`
 * is empty.
 */
export interface LimitSet {
  readonly limits: readonly Limit[];
  found: { readonly generation: object; readonly windows: readonly ChargedWindow[]; readonly leases: readonly LeasedCounter[] } | null;
}

export const noLimits: LimitSet = Object.freeze({ limits: [], found: null });

export interface Shadow {
  readonly decision: 'allow' | 'deny';
  readonly code: ReasonCode;
  readonly reason: string;
  readonly transform: Transform;
  /** Only this sidecar counted a limit. */
  readonly approximate: boolean;
}

export interface Decision {
  readonly decision: 'allow' | 'deny';
  readonly code: ReasonCode;
  /** `<code>: <words>`. It is preceded by `would_…: <words>; ` if the shadow differs. */
  readonly reason: string;
  readonly kind: DenyKind | null;
  readonly retryAfterMs: number | null;
  readonly rule: EntryRule | null;
  /** What is done to the payload. */
  readonly transform: Transform;
  /** What is done to the stored copy. It is `redact` also if only a layer in audit mode requires it. */
  readonly storedTransform: Transform;
  readonly shadow: Shadow | null;
  readonly outage: boolean;
  /** How the run ended, if a cap was reached. */
  readonly stop: StopReason | null;
  /** Whether the attempt counts towards `maxToolCalls`: it got as far as the caps. */
  readonly attempt: boolean;
  /**
   * The limits in which this call is counted: all limits that the enforced fold collected if the call is allowed,
   * otherwise none.
   */
  readonly limits: LimitSet;
  /** The same for the shadow fold, in separate counters. It is empty if no layer is in audit mode. */
  readonly shadowLimits: LimitSet;
  /**
   * The counters that are the only reason for the denial: they have no calls left here, and other processes may give
   * some of theirs, so a wait may help. Null: a wait cannot help.
   */
  readonly awaits: readonly LeasedCounter[] | null;
}

/** The most specific limit that has no calls left. */
export interface Full {
  readonly limit: Limit;
  readonly retryAfterMs: number | null;
  /** The counters that have no calls left here, if a wait may help. */
  readonly awaits: readonly LeasedCounter[] | null;
  /**
   * The limit may have calls that are not here. `held`: others hold them. `away`: the control plane cannot be reached.
   * Null: it has no calls left.
   */
  readonly dry: 'held' | 'away' | null;
}

/** The calls of a run that other processes may serve too. */
export interface SharedCalls {
  /**
   * Returns whether one more call fits into the `max` calls that all processes may make together. `mayCountAlone`:
   * applies when the ledger cannot be reached and nothing is known of the run.
   */
  hasCapacity(max: number, now: number, mayCountAlone: boolean): boolean;
  /** At the last check one more call fitted because only this process counts the run. */
  readonly isAlone: boolean;
  /** When the run began, as far as the ledger has reported. Infinite: it has not reported it. */
  readonly beganAt: number;
  /** If no call fits: the counters to wait for, if a wait may help. */
  awaits(now: number): readonly LeasedCounter[] | null;
  /** All calls have been made. */
  isSpent(now: number): boolean;
}

/** What `decide` may know of the past of a run and a subject. `limits/` keeps it. Reading changes nothing. */
export interface Usage {
  readonly startedAt: number;
  readonly toolCalls: number;
  readonly toolRounds: number;
  readonly spentCents: number;
  /** Null: no other process knows of the run. */
  readonly shared: SharedCalls | null;
  /** Returns the most specific limit of the set that has no calls left at `now` (ms), or null. */
  firstFull(set: LimitSet, now: number): Full | null;
  firstFullShadow(set: LimitSet, now: number): Full | null;
}

/** How fresh the snapshot is. `heardAt` uses the same clock as `now`. */
export interface Freshness {
  readonly connected: boolean;
  readonly heardAt: number;
}
