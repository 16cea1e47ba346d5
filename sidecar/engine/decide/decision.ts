// Defines a decision. As long as only counters change, decisions about the same caller and tool are the same frozen
// object. Therefore deciding allocates no memory.
import type {
  ApprovalStatus,
  AskingRule,
  DenyKind,
  EntryRule,
  Layer,
  Part,
  QuotaCounter,
  ReasonCode,
  Transform,
  UndecidedCase,
} from '@tollgate/proto/contract';

export type StopReason = 'max_tool_calls' | 'max_rounds' | 'max_duration' | 'max_budget';

/** A limit that a rule sets, and which calls count towards it. */
export interface Limit {
  /** `<document key> <path>`. Calls of one `originSub` count together under the same id. */
  readonly id: string;
  readonly max: number;
  readonly layer: Layer;
  readonly part?: Part;
  readonly path: string;
  readonly override?: true;
  /** Present if a case adds the limit that may not be the case of the call. */
  readonly uncertain?: true;
}

/** Counts the calls that are charged to one limit, in steps of one second. */
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
  /** Returns a function that puts back the call that was taken last, at `takenAt`, if that is still possible. */
  undoOf(takenAt: number): Undo;
}

/** Removes what one call has counted. Call it at most once. */
export type Undo = (now: number) => void;

/**
 * Limits of one caller and tool, from broad to specific. All of them must have calls left. `found` is a cache that only
 * `limits/` uses: with it, a repeated call needs no lookup. Either its `windows` or its `leases` are empty.
 */
export interface LimitSet {
  readonly limits: readonly Limit[];
  found: { readonly generation: object; readonly windows: readonly ChargedWindow[]; readonly leases: readonly LeasedCounter[] } | null;
}

export const noLimits: LimitSet = Object.freeze({ limits: [], found: null });

export interface Shadow {
  readonly decision: 'allow' | 'ask' | 'deny';
  readonly code: ReasonCode;
  readonly reason: string;
  readonly transform: Transform;
  /** True: the shadow depends on a limit that only this sidecar counted. */
  readonly approximate: boolean;
}

export interface Decision {
  readonly decision: 'allow' | 'deny';
  readonly code: ReasonCode;
  /** `<code>: <words>`. If the shadow differs from the decision, the reason begins with `would_…: <words>; `. */
  readonly reason: string;
  readonly kind: DenyKind | null;
  readonly retryAfterMs: number | null;
  readonly rule: EntryRule | null;
  /** Whether the payload is passed on unchanged or redacted. */
  readonly transform: Transform;
  /**
   * Whether the stored copy of the payload is redacted. It is `redact` also if only a layer in audit mode requires it.
   */
  readonly storedTransform: Transform;
  readonly shadow: Shadow | null;
  readonly outage: boolean;
  /** The cap that ended the run. Null: no cap was reached. */
  readonly stop: StopReason | null;
  /** True: the call reached the check of the caps, so it counts towards `maxToolCalls`. */
  readonly attempt: boolean;
  /**
   * The limits that count this call. If the call is allowed, these are all limits that the enforced fold collected.
   * Otherwise there are none.
   */
  readonly limits: LimitSet;
  /**
   * The limits of the shadow fold that count this call, in separate counters. It is empty if no layer is in audit mode.
   */
  readonly shadowLimits: LimitSet;
  /**
   * The counters that are the only reason for the denial. They have no calls left here, but other processes may give
   * some of theirs, so a wait may help. Null: a wait cannot help.
   */
  readonly awaits: readonly LeasedCounter[] | null;
  /**
   * The rules that ask a person, if that is the only reason for the denial: the call would be allowed if its approval is
   * claimed. Null: no rule asks, or something else denies.
   */
  readonly asks: readonly AskingRule[] | null;
  /** The approval that the call waits for, was answered by, or is made with. Null: there is none. */
  readonly approval: Pick<ApprovalStatus, 'approvalId' | 'by' | 'at'> | null;
  /** The cases whose conditions could not be evaluated, so that the strictest result was chosen. Null: there are none. */
  readonly undecided: readonly UndecidedCase[] | null;
}

/** The most specific limit that has no calls left. */
export interface Full {
  readonly limit: Limit;
  readonly retryAfterMs: number | null;
  /** The counters that have no calls left here, if a wait may help. Null: a wait cannot help. */
  readonly awaits: readonly LeasedCounter[] | null;
  /** Why no calls are here, if the limit may still have some elsewhere. Null: the limit has no calls left. */
  readonly dry: Dry | null;
}

/**
 * Why a counter that processes share has no calls here. `held`: the control plane has answered that other processes hold
 * what is left. `slow`: the control plane has granted none yet, whether it has answered or not. `away`: the control plane cannot be reached.
 */
export type Dry = 'held' | 'slow' | 'away';

/** The calls of a run that may use several processes. */
export interface SharedCalls {
  /**
   * Returns whether one more call fits into the `max` calls that all processes may make together. `mayCountAlone`:
   * whether this process may count alone while the ledger cannot be reached and nothing is known of the run.
   */
  hasCapacity(max: number, now: number, mayCountAlone: boolean): boolean;
  /** True: at the last check one more call fitted only because this process counts the run alone. */
  readonly isAlone: boolean;
  /** When the run began, as the ledger reports it. Infinite: the ledger has not reported it. */
  readonly beganAt: number;
  /** Returns the counters to wait for if no call fits. Null: a wait cannot help. */
  awaits(now: number): readonly LeasedCounter[] | null;
  /** Why no calls are here. Only after `awaits`. */
  dryAt(now: number): Dry;
  /** Returns whether all calls of the run have been made. */
  isSpent(now: number): boolean;
}

/** What `decide` may know of earlier calls of a run and a subject. `limits/` stores it. Reading it changes nothing. */
export interface Usage {
  readonly startedAt: number;
  readonly toolCalls: number;
  readonly toolRounds: number;
  readonly spentCents: number;
  /** Null: no other process knows of the run. */
  readonly shared: SharedCalls | null;
  /**
   * Among the limits of the set that have no calls left at `now` (ms), returns the most specific one. Returns null if
   * there is none.
   */
  firstFull(set: LimitSet, now: number): Full | null;
  firstFullShadow(set: LimitSet, now: number): Full | null;
}

/** How current the snapshot is. `heardAt`: when the control plane was last heard from, by the same clock as `now`. */
export interface Freshness {
  readonly connected: boolean;
  readonly heardAt: number;
  /**
   * How far the clock of the control plane is ahead of the clock of this machine, in ms. Keys expire by the time of the
   * control plane, and conditions read it. Absent: it is not known.
   */
  readonly aheadMs?: number;
}
