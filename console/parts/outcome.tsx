// The outcome of a call, with one colour and one sign each, so that outcomes are told apart without colour too.
import type { ReactNode } from 'react';
import type { Schemas } from '../api/client.ts';

/** In the order of severity. */
export const outcomes = ['allow', 'redact', 'ask', 'limit', 'deny'] as const;
export type Outcome = (typeof outcomes)[number];

export const outcomeWords: Readonly<Record<Outcome, string>> = {
  allow: 'allowed',
  // Only of the input: what an output contained is known after the decision, and a part of the result.
  redact: 'input redacted',
  ask: 'asked',
  limit: 'over a limit',
  deny: 'denied',
};

export const outcomeColour = (outcome: Outcome): string => `var(--outcome-${outcome})`;

const limitCodes: readonly string[] = ['rate_limited', 'request_limit', 'sessions_full'];

/** What became of a call, by its entry. */
export function outcomeOf(entry: Pick<Schemas['AuditEntry'], 'decision' | 'code' | 'transform' | 'findings' | 'outcome'>): Outcome {
  const { code = '' } = entry;
  if (entry.decision === 'deny') {
    if (code.startsWith('approval') && code !== 'approval_denied') return 'ask';
    return limitCodes.includes(code) || code.startsWith('cap_') ? 'limit' : 'deny';
  }
  const isRedacted = entry.outcome?.action === 'redact' || (entry.transform === 'redact' && (entry.findings?.length ?? 0) > 0);
  return isRedacted ? 'redact' : 'allow';
}

const signs: Readonly<Record<Outcome, ReactNode>> = {
  allow: <path d="M3 8.5 6.5 12 13 4.5" />,
  redact: <path d="M2 5h12v6H2z" fill="currentColor" />,
  ask: (
    <>
      <circle cx="8" cy="5" r="2.6" />
      <path d="M3 14c.4-3 2.4-4.5 5-4.5S12.6 11 13 14" />
    </>
  ),
  limit: <path d="M4 2h8M4 14h8M5 2c0 3 6 9 6 12M11 2c0 3-6 9-6 12" />,
  deny: <path d="M4 4l8 8M12 4l-8 8" />,
};

export function OutcomeSign({ outcome, size = 14 }: { readonly outcome: Outcome; readonly size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      aria-hidden="true"
      fill="none"
      stroke="currentColor"
      strokeWidth="2"
      strokeLinecap="round"
      strokeLinejoin="round"
      color={outcomeColour(outcome)}
    >
      {signs[outcome]}
    </svg>
  );
}

export function OutcomeWord({ outcome }: { readonly outcome: Outcome }) {
  return (
    <span
      style={{
        display: 'inline-flex',
        alignItems: 'center',
        gap: 6,
        color: outcomeColour(outcome),
        verticalAlign: 'bottom',
        whiteSpace: 'nowrap',
      }}
    >
      <OutcomeSign outcome={outcome} />
      {outcomeWords[outcome]}
    </span>
  );
}
