// Builds the HTTP answer of a denial: 403, or 429 if a limit of the policy was reached.
import type { DenyCode } from '@tollgate/proto/contract';
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

export function denialAnswer(denial: Denial): DenialAnswer {
  const { code, retryAfterMs, requestId } = denial;
  const limited = code === 'rate_limited';
  return {
    status: limited ? 429 : 403,
    headers: {
      'x-tollgate-request-id': requestId,
      ...(limited ? retryHeader(retryAfterMs ?? 1_000) : {}),
    },
    body: {
      error: denialText(denial),
      decision: decisionBody(denial),
    },
  };
}

/** Returns the decision of a denial, as every HTTP answer of it contains it. */
export function decisionBody(denial: Denial): Readonly<Record<string, unknown>> {
  const { reason, kind, retryAfterMs, requestId } = denial;
  const { approval } = denial.decision;
  return {
    decision: 'deny',
    reason,
    kind,
    ...(retryAfterMs === null ? {} : { retryAfterMs: Math.ceil(retryAfterMs) }),
    ...remediesField(denial),
    ...(approval === null ? {} : { approval_id: approval.approvalId }),
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
