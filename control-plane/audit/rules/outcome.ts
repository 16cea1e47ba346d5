// Decides what became of a call, in one word, by the fields of its `PreToolUse` entry. The console has the same rule in
// console/parts/outcome.tsx.
export const outcomes = ['allow', 'redact', 'ask', 'limit', 'deny'] as const;
export type Outcome = (typeof outcomes)[number];

export interface OutcomeFields {
  readonly decision: string;
  readonly code: string;
  readonly transform: string;
  /** How many kinds of findings the entry has. */
  readonly findings: number;
}

/** The codes of calls that were denied because there were too many of them. The caps of runs are also such codes. */
export const limitCodes = ['rate_limited', 'request_limit', 'sessions_full'] as const;

export function outcomeOf({ decision, code, transform, findings }: OutcomeFields): Outcome {
  if (decision !== 'deny') return transform === 'redact' && findings > 0 ? 'redact' : 'allow';
  // A person has denied this one. All others wait for a person, or could have been approved.
  if (code.startsWith('approval') && code !== 'approval_denied') return 'ask';
  return limitCodes.some((one) => one === code) || code.startsWith('cap_') ? 'limit' : 'deny';
}
