// What a decision is. Decisions about the same caller and tool are the same frozen objects wherever nothing but
// counters differ, so that deciding allocates nothing.
import type { DenyKind, EntryRule, Layer, Part, ReasonCode, Transform } from '@tollgate/proto/contract';

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
  waitFor(max: number, now: number): number | null;
}

/**
 * Limits of one caller and tool that must all have room, broad to specific. `found` is for `limits/` alone: what it
 * looked up for them, so that a call that was made before costs no look-up.
 */
export interface LimitSet {
  readonly limits: readonly Limit[];
  found: { readonly generation: object; readonly windows: readonly ChargedWindow[] } | null;
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
}

/** What `decide` may know of a run's and a subject's past. `limits/` keeps it; reading changes nothing. */
export interface Usage {
  readonly startedAt: number;
  readonly toolCalls: number;
  readonly toolRounds: number;
  readonly spentCents: number;
  /** The most specific limit of the set that has no room at `now` (ms), or null. */
  firstFull(set: LimitSet, now: number): { readonly limit: Limit; readonly retryAfterMs: number | null } | null;
  firstFullShadow(set: LimitSet, now: number): { readonly limit: Limit; readonly retryAfterMs: number | null } | null;
}

/** How fresh the snapshot is. `heardAt` on the clock that `now` is read from. */
export interface Freshness {
  readonly connected: boolean;
  readonly heardAt: number;
}
