// Denials that no policy rule made: everything before step 5 of a decision, and what stops one from being made.
import { type DenyCode, reasons } from '@tollgate/proto/contract';
import { type Decision, noLimits, type StopReason } from './decision.ts';

interface RefusalOptions {
  readonly stop?: StopReason;
  readonly attempt?: boolean;
  readonly awaits?: Decision['awaits'];
}

/** What is refused before policy was read is stored redacted: no layer has said that it may be kept as it is. */
export function refuse(code: DenyCode, words: string, { stop, attempt = false, awaits = null }: RefusalOptions = {}): Decision {
  return Object.freeze({
    decision: 'deny',
    code,
    reason: `${code}: ${words}`,
    kind: reasons[code],
    retryAfterMs: null,
    rule: null,
    transform: 'redact',
    storedTransform: 'redact',
    shadow: null,
    outage: false,
    stop: stop ?? null,
    attempt,
    limits: noLimits,
    shadowLimits: noLimits,
    awaits,
  });
}
