// Defines one entry of the audit log, as a sidecar writes it to its spool and ships it. The control plane adds `id`
// (`<spool id>-<sequence>`) and `receivedAt`. An optional field is absent if it does not apply.
import type { DenyCode, ReasonCode } from './reasons.ts';
import type { Layer, Part, Role, Tier, Transform } from './words.ts';

export interface EntryRule {
  readonly layer: Layer | 'default';
  readonly part?: Part;
  /** The place of the rule in the layer's document, e.g. `tools["github.*"].api`. */
  readonly path: string;
  readonly revision: number;
  /** Present if the rule applies because of an explicit exception. */
  readonly override?: true;
}

/** A case whose condition could not be evaluated. The strictest of what the rule may say applied. */
export interface UndecidedCase {
  /** The document, e.g. `workspace` or `role:member`. */
  readonly document: string;
  /** The place of the case in it, e.g. `tools["payments.transfer"].api.cases["large"]`. */
  readonly path: string;
  /** One of `undecidedReasons`. */
  readonly reason: string;
  /** The part of the condition, e.g. `args.amount`. Never a value. */
  readonly at: string;
}

export interface Finding {
  /** What was found, e.g. `email`; never the value itself. */
  readonly kind: string;
  readonly count: number;
}

/** In hex, as in `traceparent`. */
export interface TraceIds {
  readonly traceId: string;
  readonly spanId: string;
}

export interface AuditEntry {
  readonly hookEvent: 'PreToolUse' | 'PostToolUse';
  readonly tool: string;
  readonly decision: 'allow' | 'deny';
  readonly code: ReasonCode;
  readonly decisionReason: string;
  readonly agentName: string;
  readonly agentId?: string;
  readonly agentTier: Tier;
  readonly agentType: string;
  readonly role: Role | '';
  readonly sub: string;
  /** The key of the request. If the request named another user, `sub` is that user, and not the key's own subject. */
  readonly keyId: string;
  readonly userEmail: string;
  readonly sessionId: string;
  /** The id of the call. The call's two entries, from before and after it, have the same id. */
  readonly requestId: string;
  /** The trace that the call is part of. A caller may name any trace, so this is not proof. */
  readonly traceId?: string;
  /**
   * The span in the trace `traceId`: the span of the call if the deciding process created one, otherwise the span of
   * the caller.
   */
  readonly spanId?: string;
  /** ISO 8601 with milliseconds, UTC: when the call was decided. */
  readonly ts: string;
  readonly client: { readonly name: string; readonly version?: string };
  /**
   * The uid of the process that connected to the Unix domain socket of the sidecar, as the kernel knows it: the effective
   * uid at the connect, in the user namespace of the sidecar. Absent: the call came in another way, or the uid is not
   * known.
   */
  readonly peerUid?: number;
  readonly originSub?: string;
  readonly depth: number;
  readonly chain?: readonly string[];
  readonly runChain?: readonly string[];
  readonly parentProfileId?: string;
  /** `chain` is what an authenticated caller claimed. Tollgate did not observe it. */
  readonly chainClaimed?: true;
  readonly epoch: string;
  readonly revision: number;
  /** The time in ms from the last message of the control plane to the decision. */
  readonly policyAgeMs: number;
  readonly outage?: true;
  readonly rule?: EntryRule;
  /** The first of the cases that could not be evaluated. */
  readonly undecided?: readonly UndecidedCase[];
  readonly shadow?: {
    readonly decision: 'allow' | 'ask' | 'deny';
    readonly code: ReasonCode;
    readonly reason: string;
    readonly transform: Transform;
    readonly approximate?: true;
  };
  /** The approval that the call waits for, was answered by, or is made with. */
  readonly approval?: {
    readonly id: string;
    /** The uid of the member who answered. Absent: no one has answered. */
    readonly by?: string;
    /** ISO 8601 with milliseconds, UTC: when it was answered. Absent: no one has answered. */
    readonly at?: string;
  };
  readonly transform: Transform;
  readonly findings?: readonly Finding[];
  /** SHA-256 in hex of the canonical JSON of the input. This is the input after the transform and before the cut. */
  readonly inputDigest: string;
  /** The input after the transform, cut at 8 KiB. */
  readonly input?: unknown;
  readonly inputCut?: true;
  /** The time from the parsed request to the decision, in µs. */
  readonly latencyUs?: number;
  readonly outcome?: {
    readonly isError: boolean;
    readonly durationMs: number;
    readonly outputDigest?: string;
    readonly action?: 'pass' | 'redact' | 'block';
    readonly code?: DenyCode;
  };
}
