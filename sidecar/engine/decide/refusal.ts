// Builds denials that no policy rule made: those before step 5 of a decision, and those of calls that could not be
// decided.
import { type DenyCode, reasons } from '@tollgate/proto/contract';
import { type Decision, noLimits, type StopReason } from './decision.ts';

interface RefusalOptions {
  readonly stop?: StopReason;
  readonly attempt?: boolean;
  readonly awaits?: Decision['awaits'];
}

/**
 * Returns a denial. Such a call is refused before policy is read, so no layer has allowed storing the call unchanged.
 * Therefore the call is stored redacted.
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
    asks: null,
    approval: null,
    undecided: null,
  });
}
