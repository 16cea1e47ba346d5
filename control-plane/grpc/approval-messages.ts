// Converts messages of `ApprovalService` to and from plain values.
import type { ApproveRequest__Output, ApproveResponse } from '@tollgate/proto';
import type {
  ApprovalAsk,
  ApprovalState,
  ApprovalStatus,
  AskedCall,
  AskingRule,
  AskResult,
  ClaimResult,
  Tier,
} from '@tollgate/proto/contract';
import { readRule } from '../approvals/rules/terms.ts';

type AskMessage = NonNullable<ApproveRequest__Output['ask']>;
type CallMessage = NonNullable<AskMessage['call']>;
type StatusMessage = NonNullable<ApproveResponse['decided']>;

/** Returns the call, or what is wrong with it. Its rules are checked here, its other fields by `callProblem`. */
export function callFrom(message: CallMessage | null): AskedCall | { readonly problem: string } {
  if (message === null) return { problem: 'call must be there' };
  const rules: AskingRule[] = [];
  for (const [at, one] of message.rules.entries()) {
    const rule = readRule(one);
    if ('problem' in rule) return { problem: `call.rules[${at}]${rule.problem}` };
    rules.push(rule);
  }
  const { keyId, originSub, sessionId, agents, agentType, tool } = message;
  const inputSha256 = message.inputSha256.toString('hex');
  // `callProblem` checks the tier, as it checks every other field.
  return { keyId, originSub, sessionId, agents, agentType, tier: message.tier as Tier, tool, inputSha256, rules };
}

export function askFrom(message: AskMessage): ApprovalAsk | { readonly problem: string } {
  const call = callFrom(message.call);
  if ('problem' in call) return call;
  const { shownInput, findings, hidden, claimedClient, revision, mayCreate, roundId } = message;
  if (revision === null) return { problem: 'revision must be there' };
  return { call, shownInput, findings, hidden, claimedClient, revision, mayCreate, roundId };
}

const states = {
  pending: 'APPROVAL_STATE_PENDING',
  approved: 'APPROVAL_STATE_APPROVED',
  denied: 'APPROVAL_STATE_DENIED',
  expired: 'APPROVAL_STATE_EXPIRED',
  cancelled: 'APPROVAL_STATE_CANCELLED',
  used: 'APPROVAL_STATE_USED',
} as const satisfies Record<ApprovalState, string>;

export const statusMessage = ({ approvalId, state, by, at, note, remainingMs }: ApprovalStatus): StatusMessage => ({
  approvalId,
  state: states[state],
  by: by ?? '',
  at: at ?? '',
  note: note ?? '',
  remainingMs: Math.ceil(remainingMs),
});

export function askedMessage(number: number, result: AskResult): ApproveResponse {
  if (result.kind === 'approval') return { asked: { number, approval: statusMessage(result.approval), isNew: result.isNew } };
  const { code, words, retryAfterMs } = result;
  return { asked: { number, refused: { code: code ?? '', words, retryAfterMs: retryAfterMs ?? 0 } } };
}

export const claimedMessage = (number: number, { granted, isFirstUse, approval }: ClaimResult): ApproveResponse => ({
  claimed: { number, granted, isFirstUse, approval: statusMessage(approval) },
});

export const readMessage = (number: number, approval: ApprovalStatus | null): ApproveResponse => ({
  read: approval === null ? { number } : { number, approval: statusMessage(approval) },
});
