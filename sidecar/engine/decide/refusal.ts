// Builds denials that no policy rule made: everything before step 5 of a decision, and everything that prevents a
// decision.
import { type DenyCode, reasons } from '@tollgate/proto/contract';
import { type Decision, noLimits, type StopReason } from './decision.ts';

interface RefusalOptions {
  readonly stop?: StopReason;
  readonly attempt?: boolean;
  readonly awaits?: Decision['awaits'];
}

/**
 * A call that is refused before policy is read is stored redacted, because no layer has allowed storing it unchanged.
 */
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
