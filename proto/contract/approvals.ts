// Defines, as plain values, the terms of rules that ask a person, the questions that a sidecar sends, and the answers. They
// correspond to the messages in `proto/tollgate/v1/approval.proto`, which describes each field. Pure.
import { canonicalJson, digestText } from './canonical.ts';
import type { DenyCode } from './reasons.ts';
import type { RevisionName } from './revision.ts';
import type { Tier } from './words.ts';

/** The bounds of the terms of a rule that asks. Times are in seconds. */
export const askBounds = {
  approvers: 20,
  need: { min: 1, max: 5 },
  waitSeconds: { min: 0, max: 3_600 },
  pendingSeconds: { min: 10, max: 30 * 86_400 },
  validSeconds: { min: 1, max: 7 * 86_400 },
  uses: { min: 1, max: 100 },
  reasonLength: 300,
  channels: 20,
} as const;

export const askDefaults = { need: 1, waitSeconds: 300, pendingSeconds: 86_400, validSeconds: 900, uses: 1 } as const;

/**
 * The terms of a rule or case with `permission: "ask"`, with all defaults filled in. A snapshot contains them in this form.
 */
export interface CompiledAsk {
  /**
   * Who may answer: `role:<role>` (this role or above), `user:<uid>`, or `subject` (the person that the call is made for).
   * At least one.
   */
  readonly approvers: readonly string[];
  /** How many persons must approve. */
  readonly need: number;
  /** How long a caller is held. */
  readonly waitSeconds: number;
  /** How long the question may be answered. */
  readonly pendingSeconds: number;
  /** From the answer to the last use. */
  readonly validSeconds: number;
  readonly uses: number;
  /** The person that the call is made for may answer. */
  readonly self?: true;
  /** Who made or rotated the key that asks may not answer. */
  readonly independent?: true;
  /** Only an answer of a signed-in session counts. */
  readonly via?: 'session';
  /** Why it is asked, for the person who answers. */
  readonly reason?: string;
  /** The names of the channels that receive messages. Absent: the default channels of the workspace. */
  readonly channels?: readonly string[];
}

/** A rule or case that asks, and where it is. */
export interface AskingRule {
  readonly document: string;
  readonly path: string;
  /** `askDigest` of the other fields. */
  readonly digest: string;
  readonly terms: CompiledAsk;
}

/** Returns the digest that binds an approval to a rule: 64 hex digits. If the rule's terms or place change, it changes. */
export const askDigest = (document: string, path: string, terms: CompiledAsk): string => digestText(canonicalJson([document, path, terms]));

/** Identifies the call that an approval is for. Two calls with equal values are the same call. */
export interface AskedCall {
  readonly keyId: string;
  readonly originSub: string;
  readonly sessionId: string;
  /** From root to caller, each by its id, or by its name if no such agent is registered. */
  readonly agents: readonly string[];
  readonly agentType: string;
  readonly tier: Tier;
  readonly tool: string;
  /**
   * SHA-256 of the canonical JSON of the input, before redaction: 64 hex digits. If the tool receives the redacted input, of both
   * forms.
   */
  readonly inputSha256: string;
  readonly rules: readonly AskingRule[];
}

/** A value that the tool receives although it is not shown. */
export interface HiddenValue {
  readonly path: string;
  readonly kind: string;
  /** In UTF-16 code units. */
  readonly length: number;
  /** The value as JSON text. */
  readonly value: string;
}

export interface ApprovalAsk {
  readonly call: AskedCall;
  /** The input as redaction leaves it, as JSON text. */
  readonly shownInput: string;
  readonly findings: readonly { readonly kind: string; readonly count: number }[];
  readonly hidden: readonly HiddenValue[];
  readonly claimedClient: string;
  readonly revision: RevisionName;
  /** False: only an existing approval of this call is wanted. */
  readonly mayCreate: boolean;
  readonly roundId: string;
}

export const approvalStates = ['pending', 'approved', 'denied', 'expired', 'cancelled', 'used'] as const;
export type ApprovalState = (typeof approvalStates)[number];

export interface ApprovalStatus {
  readonly approvalId: string;
  readonly state: ApprovalState;
  /** The uid of the member who answered last. Null: no one has answered. */
  readonly by: string | null;
  /** ISO 8601 with milliseconds, UTC. Null: no one has answered. */
  readonly at: string | null;
  /** What the one who answered wrote. Null: nothing. */
  readonly note: string | null;
  /** While pending: how long a person may still answer. Approved: how long a use may still begin. In ms. */
  readonly remainingMs: number;
}

export type AskResult =
  /** `isNew`: this ask made the approval, so the call is a new attempt. */
  | { readonly kind: 'approval'; readonly approval: ApprovalStatus; readonly isNew: boolean }
  /** `code` null: there is no approval of this call, and none was to be made. */
  | { readonly kind: 'refused'; readonly code: ApprovalRefusal | null; readonly words: string; readonly retryAfterMs: number | null };

export const approvalRefusals = ['approvals_full', 'approval_unanswerable', 'call_malformed'] as const satisfies readonly DenyCode[];
export type ApprovalRefusal = (typeof approvalRefusals)[number];

export interface ClaimResult {
  readonly granted: boolean;
  /** No other request has an earlier use: the call was counted as an attempt when it was asked for. */
  readonly isFirstUse: boolean;
  readonly approval: ApprovalStatus;
}

/** The connection to the ledger of approvals, by a stream or within one process. Every method may be called again. */
export interface ApprovalLink {
  /** Rejects if the control plane cannot be reached. It may or may not have made the approval then. */
  ask(ask: ApprovalAsk): Promise<AskResult>;
  /** From now on, `OnDecided` is called when this approval is no longer pending, at once if it is not. */
  watch(approvalId: string): void;
  /** Claims a use for the request. Rejects if the control plane cannot be reached. */
  claim(approvalId: string, requestId: string, call: AskedCall): Promise<ClaimResult>;
  /** Gives the use of this request back: its call was not made. */
  returnUse(approvalId: string, requestId: string): void;
  /** Null: this key asked for no such approval. */
  read(approvalId: string, keyId: string): Promise<ApprovalStatus | null>;
  close(): void;
}

export type OnDecided = (approval: ApprovalStatus) => void;
