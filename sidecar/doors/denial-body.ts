// Builds the HTTP answer of a denial: 403, or 429 if a limit of the policy was reached.
import type { DenyCode, ReasonCode } from '@tollgate/proto/contract';
import { reasons } from '@tollgate/proto/contract';
import type { Decision } from '../engine/decide/decision.ts';
import { type Denial, denialText, remediesField } from '../engine/govern/verdict.ts';

export interface DenialAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { readonly error: string; readonly decision: object };
}

/** Returns the `retry-after` header in whole seconds, if a time is known. */
export const retryHeader = (ms: number | null | undefined): Readonly<Record<string, string>> =>
  ms == null ? {} : { 'retry-after': String(Math.max(1, Math.ceil(ms / 1000))) };

/** The codes of denials after which the same call may pass when a person has answered, or can be asked. */
const waitsForPerson: ReadonlySet<ReasonCode> = new Set(['approval_pending', 'approval_expired', 'approvals_full', 'approval_unavailable']);

const commandFor = (approvalId: string): string => `The command for the person: tollgate approvals show ${approvalId}`;

/** Returns the text of a progress message about a call that waits for a person. */
export const heldWords = (approvalId: string): string => `A person is asked about this call. ${commandFor(approvalId)}`;

/** The time between two progress messages, in ms. Many clients end a request about which they hear nothing for 60 s. */
export const heldProgressMs = 15_000;

/** Returns the text that tells a model about a denial. It has the command that shows a person the call that waits. */
export function toldDenial(denial: Denial): string {
  const { approval } = denial.decision;
  const text = denialText(denial);
  if (denial.code !== 'approval_pending' || approval === null) return text;
  return `${text} ${commandFor(approval.approvalId)}`;
}

export function denialAnswer(denial: Denial): DenialAnswer {
  const { code, retryAfterMs, requestId } = denial;
  const limited = code === 'rate_limited';
  const retry = limited ? (retryAfterMs ?? 1_000) : waitsForPerson.has(code) ? retryAfterMs : null;
  return {
    status: limited ? 429 : 403,
    headers: {
      'x-tollgate-request-id': requestId,
      ...retryHeader(retry),
    },
    body: {
      error: toldDenial(denial),
      decision: decisionBody(denial),
    },
  };
}

/** Returns the decision of a denial, as every HTTP answer of it contains it. */
export function decisionBody(denial: Denial): Readonly<Record<string, unknown>> {
  const { reason, kind, retryAfterMs, requestId } = denial;
  const { approval, asks } = denial.decision;
  return {
    decision: 'deny',
    reason,
    kind,
    ...(retryAfterMs === null ? {} : { retryAfterMs: Math.ceil(retryAfterMs) }),
    ...remediesField(denial),
    ...(approval === null ? {} : { approval_id: approval.approvalId }),
    // A client that can wait need not wait for longer than the rule lets it.
    ...(asks === null ? {} : { waitMs: 1_000 * Math.min(...asks.map(({ terms }) => terms.waitSeconds)) }),
    request_id: requestId,
  };
}

/** Returns the body of the answer to a request that received no policy decision. */
export const refusalBody = (code: DenyCode, words: string, retryAfterMs?: number): DenialAnswer['body'] => ({
  error: words,
  decision: {
    decision: 'deny',
    reason: `${code}: ${words}`,
    kind: reasons[code],
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  },
});

/** Returns the body of the answer if an output is withheld. */
export const blockedBody = ({ reason }: Decision, requestId: string): object => ({
  error: `The output was withheld: ${reason}`,
  decision: { action: 'block', reason, request_id: requestId },
});

/** The key in `_meta` of an MCP result under which programs find a denial. */
export const denialKey = 'tollgate/denial';

/** Returns the `_meta` of an MCP result that is a denial. */
export function denialMeta(denial: Denial): object {
  const { code, reason, kind, retryAfterMs, requestId } = denial;
  const { approval } = denial.decision;
  const retry = retryAfterMs === null ? {} : { retryAfterMs };
  const asked = approval === null ? {} : { approvalId: approval.approvalId };
  return { [denialKey]: { code, reason, kind, ...retry, ...remediesField(denial), ...asked, requestId } };
}
