// What became of a call, by the decision that is counted. The console shows entries by the same rule. Pure.
import type { CountedDecision } from './tally.ts';

export const outcomes = ['allow', 'redact', 'ask', 'limit', 'deny'] as const;
export type Outcome = (typeof outcomes)[number];

/** The codes of calls that were denied because there were too many of them. The caps of runs are also such codes. */
export const limitCodes = ['rate_limited', 'request_limit', 'sessions_full'] as const;

export function outcomeOf({ decision, code, redacted }: Pick<CountedDecision, 'decision' | 'code' | 'redacted'>): Outcome {
  if (decision === 'allow') return redacted ? 'redact' : 'allow';
  if (code.startsWith('approval') && code !== 'approval_denied') return 'ask';
  return limitCodes.some((one) => one === code) || code.startsWith('cap_') ? 'limit' : 'deny';
}
