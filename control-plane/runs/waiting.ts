// Defines how a run that waits for persons is stored: its conversation, its counts, and the calls that wait. The text is
// sealed before it is stored, because the conversation is not redacted.
import { isObject } from '@tollgate/proto/shape';
import type { ApprovalAsk, ApprovalStatus, AskResult, Tier } from '@tollgate/proto/contract';
import type { SavedConversation } from './conversation.ts';
import type { UsedSoFar } from './governance/governed.ts';
import type { Caller } from './governance/run-view.ts';
import type { RunProgress } from './rules/run.ts';

/** Increased when a stored run can no longer be read by earlier releases, or an earlier one by this release. */
const form = 1;

/** The maximum size of a stored run, in bytes. */
export const storedBytesMax = 16 * 1_048_576;

/** A call that waits for a person. */
export interface WaitingCall {
  readonly callId: string;
  readonly alias: string;
  readonly tool: string;
  readonly input: unknown;
  /** The digest of exactly what was asked. If the call is decided again and asks for something else, this does not match. */
  readonly askDigest: string;
  /** Whether the call was counted as an attempt of the run when it asked before an earlier wait. */
  readonly isCounted: boolean;
}

/** The calls of a round that wait, with what the loop needs to continue after the round. */
export interface WaitingRound {
  readonly round: number;
  /** The call ids of the run so far. */
  readonly seen: readonly string[];
  /** A text for the model that follows the results of this round; null: there is none. */
  readonly after: string | null;
  readonly calls: readonly WaitingCall[];
}

export interface StoredRun extends WaitingRound {
  readonly agentId: string;
  readonly caller: Caller;
  readonly tier: Tier;
  readonly client: string;
  readonly model: string;
  /** The system prompt of the run's beginning, with the caller's context. */
  readonly system: string;
  /** For how long the run has been active, in ms. The time that it waits does not count. */
  readonly activeMs: number;
  /** Without the attempts of the calls that wait: they are counted when the run is resumed. */
  readonly used: UsedSoFar;
  readonly conversation: SavedConversation;
}

/** The question of a call that waits, as it is stored. */
export interface StoredQuestion {
  /** Null: the call was not asked for successfully. */
  readonly approvalId: string | null;
  /** Whether asking is an attempt of the run. A question that met an earlier approval is none. */
  readonly isCounted: boolean;
}

/** What a call that waited asked, and how it was answered. */
export interface AnsweredQuestion {
  readonly approval: ApprovalStatus;
  readonly isCounted: boolean;
}

/** A stored run that a control plane has taken, to resume it. */
export interface ResumedRun {
  readonly stored: StoredRun;
  /** In the order of the calls. Null: the call was not asked for successfully. */
  readonly answers: readonly (AnsweredQuestion | null)[];
}

/**
 * Returns a function that writes the stored run. The large part is written once, before the questions are asked; the
 * function adds the answers to them, which are in the order of the calls.
 */
export function storedWriter(run: StoredRun): {
  readonly bytes: number;
  readonly text: (answers: readonly AskResult[]) => string;
} {
  const { calls } = run;
  const large = JSON.stringify(run);
  const questionOf = (answer: AskResult, at: number): StoredQuestion =>
    answer.kind === 'approval'
      ? { approvalId: answer.approval.approvalId, isCounted: answer.isNew || calls[at]?.isCounted === true }
      : { approvalId: null, isCounted: false };
  return {
    bytes: Buffer.byteLength(large),
    text: (answers) => `${JSON.stringify({ form, questions: answers.map(questionOf) })}\n${large}`,
  };
}

/** Returns the stored run, or null if the text is not one that this release can read. */
export function parseStored(text: string): { readonly stored: StoredRun; readonly questions: readonly StoredQuestion[] } | null {
  const end = text.indexOf('\n');
  const head = jsonOf(text.slice(0, Math.max(0, end)));
  const rest = jsonOf(text.slice(end + 1));
  if (!isObject(head) || head['form'] !== form || !isObject(rest) || !Array.isArray(rest['calls']) || !Array.isArray(head['questions']))
    return null;
  const { caller } = rest as unknown as StoredRun;
  const { expiresAt } = caller.credential;
  // It was sealed by a control plane, for exactly this run, so its fields are what `storedWriter` has written.
  const stored = {
    ...rest,
    caller: { ...caller, credential: { ...caller.credential, expiresAt: expiresAt === null ? null : new Date(expiresAt) } },
  } as unknown as StoredRun;
  return { stored, questions: head['questions'] as readonly StoredQuestion[] };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** A run that wants to wait, as the records store it. */
export interface Wait {
  /** The questions, in the order of the calls. */
  readonly asks: readonly ApprovalAsk[];
  readonly write: ReturnType<typeof storedWriter>;
  /** Whether a client of this process reads the events of the run. */
  readonly isRead: boolean;
  readonly progress: RunProgress;
  /** A JSON value. */
  readonly transcript: unknown;
}

export type WaitOutcome =
  /** The run is stored as waiting. `answers`: of the questions, in their order. At least one is pending. */
  | { readonly kind: 'waits'; readonly answers: readonly AskResult[] }
  /** No question is pending, so the run need not wait. */
  | { readonly kind: 'answered'; readonly answers: readonly AskResult[] }
  /** The run cannot wait, and no question was asked. `why`: in words. */
  | { readonly kind: 'impossible'; readonly why: string };

/** An approval that a run waits for, as clients are told. */
export interface AwaitedApproval {
  readonly callId: string;
  readonly tool: string;
  readonly approvalId: string;
}

/** What `POST run` answers when the run waits. */
export interface RunWaits {
  readonly id: string;
  readonly status: 'waiting';
  readonly conversationId: string;
  readonly approvals: readonly AwaitedApproval[];
}

/** Returns the approvals of the calls that wait for one. */
export const awaitedOf = (
  calls: readonly Pick<WaitingCall, 'callId' | 'tool'>[],
  answers: readonly AskResult[],
): readonly AwaitedApproval[] =>
  calls.flatMap(({ callId, tool }, at) => {
    const given = answers[at];
    const isPending = given?.kind === 'approval' && given.approval.state === 'pending';
    return isPending ? [{ callId, tool, approvalId: given.approval.approvalId }] : [];
  });
