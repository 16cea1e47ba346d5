// What a decision is. Decisions about the same caller and tool are the same frozen objects wherever nothing but
// counters differ, so that deciding allocates nothing.
import type { DenyKind, EntryRule, Layer, Part, QuotaCounter, ReasonCode, Transform } from '@tollgate/proto/contract';

export type StopReason = 'max_tool_calls' | 'max_rounds' | 'max_duration' | 'max_budget';

/** A limit that a rule sets, and which calls count to it. */
export interface Limit {
  /** `<document key> <path>`: calls of one `originSub` under the same id share one allowance. */
  readonly id: string;
  readonly max: number;
  readonly layer: Layer;
  readonly part?: Part;
  readonly path: string;
  readonly override?: true;
}

/** The calls that are charged to one limit, by step of one second. */
export interface ChargedWindow {
  used(step: number): number;
  add(step: number): void;
  /** Takes back one call that was added in this step. */
  remove(step: number): void;
  waitFor(max: number, now: number): number | null;
}

/** Calls that this process may make without asking anybody: what it holds of a counter that others use as well. */
export interface LeasedCounter {
  readonly counter: QuotaCounter;
  hasRoom(now: number): boolean;
  take(now: number): void;
  /** Of the call that was taken last, at `takenAt`: puts it back, where that can still be done. */
  undoOf(takenAt: number): Undo;
}

/** Takes back what one call has counted; to be called once at most. */
export type Undo = (now: number) => void;

/**
 * Limits of one caller and tool that must all have room, broad to specific. `found` is for `limits/` alone: what it
 * looked up for them, so that a call that was made before costs no look-up. Of `windows` and `leases` one is empty.
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
  /** A limit was counted by this sidecar alone. */
  readonly approximate: boolean;
}

export interface Decision {
  readonly decision: 'allow' | 'deny';
  readonly code: ReasonCode;
  /** `<code>: <words>`, preceded by `would_…: <words>; ` where the shadow differs. */
  readonly reason: string;
  readonly kind: DenyKind | null;
  readonly retryAfterMs: number | null;
  readonly rule: EntryRule | null;
  /** What happens to the payload. */
  readonly transform: Transform;
  /** What happens to what is stored: `redact` also where only a layer in audit mode asks for it. */
  readonly storedTransform: Transform;
  readonly shadow: Shadow | null;
  readonly outage: boolean;
  /** The run's end, where a cap was reached. */
  readonly stop: StopReason | null;
  /** Whether the attempt counts to `maxToolCalls`: it got as far as the caps. */
  readonly attempt: boolean;
  /** The limits in which this call is counted: all that the enforced fold collected, if allowed; else none. */
  readonly limits: LimitSet;
  /** The same for the shadow fold, in counters of its own; empty where no layer is in audit mode. */
  readonly shadowLimits: LimitSet;
  /** Denied only because these have run dry here, and others may give some of theirs: a wait may help. Null: it cannot. */
  readonly awaits: readonly LeasedCounter[] | null;
}

/** The most specific limit without room. */
export interface Full {
  readonly limit: Limit;
  readonly retryAfterMs: number | null;
  /** Those that have run dry, where it may be worth a wait. */
  readonly awaits: readonly LeasedCounter[] | null;
  /** It may have room that is not here: others hold it, or nobody can be asked. Null: it has none. */
  readonly dry: 'held' | 'away' | null;
}

/** The calls of a run that other processes may serve as well. */
export interface SharedCalls {
  /** Whether one more fits, of `max` that all may make together. `mayCountAlone`: where nobody can be asked, and nothing is known of it. */
  hasRoom(max: number, now: number, mayCountAlone: boolean): boolean;
  /** It had room at the last look because it is counted here alone. */
  readonly isAlone: boolean;
  /** When it began, as far as the ledger has told; infinite: it has not. */
  readonly beganAt: number;
  /** Where none fits: what to wait for, where a wait may help. */
  awaits(now: number): readonly LeasedCounter[] | null;
  /** All of them have been made. */
  isSpent(now: number): boolean;
}

/** What `decide` may know of a run's and a subject's past. `limits/` keeps it; reading changes nothing. */
export interface Usage {
  readonly startedAt: number;
  readonly toolCalls: number;
  readonly toolRounds: number;
  readonly spentCents: number;
  /** Null: no other process knows of the run. */
  readonly shared: SharedCalls | null;
  /** The most specific limit of the set that has no room at `now` (ms), or null. */
  firstFull(set: LimitSet, now: number): Full | null;
  firstFullShadow(set: LimitSet, now: number): Full | null;
}

/** How fresh the snapshot is. `heardAt` on the clock that `now` is read from. */
export interface Freshness {
  readonly connected: boolean;
  readonly heardAt: number;
}
