// One entry of the audit log, as a sidecar writes it to its spool and ships it. The control plane adds `id`
// (`<spool id>-<sequence>`) and `receivedAt`. Absent optional fields say nothing.
import type { DenyCode, ReasonCode } from './reasons.ts';
import type { Layer, Part, Role, Tier, Transform } from './words.ts';

export interface EntryRule {
  readonly layer: Layer | 'default';
  readonly part?: Part;
  /** Where in that layer's document, e.g. `tools["github.*"].api`. */
  readonly path: string;
  readonly revision: number;
  /** Present where the rule stands by an explicit exception. */
  readonly override?: true;
}

export interface Finding {
  /** What was found, e.g. `email`; never the thing itself. */
  readonly kind: string;
  readonly count: number;
}

/** In hex, as `traceparent` has them. */
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
  /** The key that asked; its own subject is another where it named somebody else. */
  readonly keyId: string;
  readonly userEmail: string;
  readonly sessionId: string;
  /** Unique to a call; joins its two entries. */
  readonly requestId: string;
  /** The trace that the call is part of. Its caller may name any. */
  readonly traceId?: string;
  /** There, the span of the call where whoever decided it made one, else that of its caller. */
  readonly spanId?: string;
  /** ISO 8601 with milliseconds, UTC: when it was decided. */
  readonly ts: string;
  readonly client: { readonly name: string; readonly version?: string };
  readonly originSub?: string;
  readonly depth: number;
  readonly chain?: readonly string[];
  readonly runChain?: readonly string[];
  readonly parentProfileId?: string;
  /** The chain is as an authenticated caller claimed it, not as we saw it. */
  readonly chainClaimed?: true;
  readonly epoch: string;
  readonly revision: number;
  /** How long ago the control plane was last heard from when this was decided, in ms. */
  readonly policyAgeMs: number;
  readonly outage?: true;
  readonly rule?: EntryRule;
  readonly shadow?: {
    readonly decision: 'allow' | 'deny';
    readonly code: ReasonCode;
    readonly reason: string;
    readonly transform: Transform;
    readonly approximate?: true;
  };
  readonly transform: Transform;
  readonly findings?: readonly Finding[];
  /** SHA-256 in hex of the canonical JSON of the input as the transform left it, before it is cut. */
  readonly inputDigest: string;
  /** The input as the transform left it, cut at 8 KiB. */
  readonly input?: unknown;
  readonly inputCut?: true;
  /** From parsed to decided, in µs. */
  readonly latencyUs?: number;
  readonly outcome?: {
    readonly isError: boolean;
    readonly durationMs: number;
    readonly outputDigest?: string;
    readonly action?: 'pass' | 'redact' | 'block';
    readonly code?: DenyCode;
  };
}
