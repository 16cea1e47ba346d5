// Builds the answers to hooks, in the format of the hook protocol.
import { type DenyCode, type Finding, reasons } from '@tollgate/proto/contract';
import type { Delivery } from '../../engine/govern/deliver.ts';
import type { Verdict } from '../../engine/govern/verdict.ts';
import type { CostVerdict } from '../../engine/limits/costs.ts';
import { decisionBody } from '../denial-body.ts';
import type { EntranceRefusal } from '../entrance/key.ts';
import type { CostAction } from './hook-request.ts';

export interface Answer {
  readonly status: number;
  /**
   * The status that an earlier version would use for this answer. In that version, a decision could have a status other
   * than 200, and some clients still read that status. Absent: the same as `status`.
   */
  readonly formerStatus?: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export function verdictBody(verdict: Verdict): Answer['body'] {
  const { decision, findings, requestId } = verdict;
  if (!verdict.allowed) return decisionBody(verdict);
  const changed = decision.transform === 'redact' && findings.length > 0;
  return {
    decision: 'allow',
    reason: decision.reason,
    request_id: requestId,
    ...(changed ? { modified_input: verdict.input } : {}),
    ...findingsBody(findings),
  };
}

export const deliveryBody = ({ action, output, findings, decision }: Delivery): Answer['body'] => ({
  action,
  // Some clients read `modified_output` and others read `tool_output`.
  ...(action === 'redact' ? { modified_output: output, tool_output: output, reason: redactedWords(findings) } : {}),
  ...(decision === null ? {} : { reason: decision.reason }),
  ...findingsBody(findings),
});

/** Answers a request about a cost. Money that is only reserved by other costs may become available again. */
export function costBody(action: CostAction, verdict: CostVerdict): Answer['body'] {
  if (verdict.allowed) {
    const { cents } = verdict;
    return { decision: 'allow', reason: `allowed: ${cents} cents are ${action === 'reserve' ? 'reserved' : 'counted'}`, cents };
  }
  const { code, reason, stopped } = verdict;
  const kind = code === 'cap_budget' && stopped === null ? 'retry' : reasons[code];
  return { decision: 'deny', reason, kind, ...(stopped === null ? {} : { stopped }) };
}

const redactedWords = (findings: readonly Finding[]): string =>
  `allowed: policy redacts the output, and what it found was replaced (${findings.map(({ kind, count }) => `${kind} ${count}`).join(', ')})`;

const findingsBody = (findings: readonly Finding[]): object =>
  findings.length === 0
    ? {}
    : { findings: { pii: { types: findings.map(({ kind }) => kind), count: findings.reduce((sum, { count }) => sum + count, 0) } } };

/** A refusal of a call that was not decided. */
export type Refusal = Pick<EntranceRefusal, 'code' | 'error' | 'retryAfterMs'> & { readonly status: number };

/** Writes a refusal as a decision, for clients that read only decisions. */
export type RefusalWriter = (refusal: Omit<Refusal, 'status'>) => Answer['body'];

const reasonOf = (code: DenyCode, words: string): string => `${code}: ${words}`;

const retryFields = (retryAfterMs: number | undefined): object => (retryAfterMs === undefined ? {} : { retryAfterMs });

export const deniedUse: RefusalWriter = ({ code, error, retryAfterMs }) => ({
  decision: 'deny',
  reason: reasonOf(code, error),
  kind: reasons[code],
  ...retryFields(retryAfterMs),
});

export const deniedOutput: RefusalWriter = ({ code, error, retryAfterMs }) => ({
  action: 'block',
  reason: reasonOf(code, error),
  ...retryFields(retryAfterMs),
});

/**
 * Returns the answer to a refused request. Too many requests (429) and a missing policy (503) are answered with 200, as
 * decisions, because deployed clients run the call on any other status. Other refusals keep their status: 401 and 403
 * report a problem with the key, and 5xx reports an outage.
 */
export function refusalAnswer({ status, ...refusal }: Refusal, denied: RefusalWriter): Answer {
  const isDecision = status === 429 || (status === 503 && refusal.code === 'snapshot_missing');
  return isDecision
    ? { status: 200, formerStatus: status, body: denied(refusal) }
    : { status, body: { error: refusal.error, ...denied(refusal) } };
}
