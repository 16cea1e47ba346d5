// What a hook is answered, in the words of its protocol.
import { type DenyCode, type Finding, reasons } from '@tollgate/proto/contract';
import type { Delivery } from '../../govern/deliver.ts';
import type { Denial, Verdict } from '../../govern/verdict.ts';
import type { Barred } from '../key.ts';

export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export function verdictBody(verdict: Verdict): Answer['body'] {
  const { decision, findings, requestId } = verdict;
  if (!verdict.allowed) return denialBody(verdict);
  const changed = decision.transform === 'redact' && findings.length > 0;
  return {
    decision: 'allow',
    reason: decision.reason,
    request_id: requestId,
    ...(changed ? { modified_input: verdict.input } : {}),
    ...findingsBody(findings),
  };
}

const denialBody = ({ reason, kind, retryAfterMs, requestId }: Denial): Answer['body'] => ({
  decision: 'deny',
  reason,
  kind,
  ...(retryAfterMs === null ? {} : { retryAfterMs: Math.ceil(retryAfterMs) }),
  request_id: requestId,
});

export const deliveryBody = ({ action, output, findings, decision }: Delivery): Answer['body'] => ({
  action,
  ...(action === 'redact' ? { modified_output: output } : {}),
  ...(decision === null ? {} : { reason: decision.reason }),
  ...findingsBody(findings),
});

const findingsBody = (findings: readonly Finding[]): object =>
  findings.length === 0
    ? {}
    : { findings: { pii: { types: findings.map(({ kind }) => kind), count: findings.reduce((sum, { count }) => sum + count, 0) } } };

/** What is not answered with 200. */
export type Refusal = Pick<Barred, 'code' | 'error' | 'retryAfterMs'> & { readonly status: number };

/** What a refusal says besides its error, so that a client which reads nothing but the decision reads a refusal. */
export type Denied = (refusal: Refusal) => Answer['body'];

const reasonOf = (code: DenyCode, words: string): string => `${code}: ${words}`;

export const deniedUse: Denied = ({ code, error, retryAfterMs }) => ({
  error,
  decision: 'deny',
  reason: reasonOf(code, error),
  kind: reasons[code],
  ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
});

export const deniedOutput: Denied = ({ code, error }) => ({ error, action: 'block', reason: reasonOf(code, error) });
