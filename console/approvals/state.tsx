// The states of an approval, in the signs and colours of outcomes.
import type { Schemas } from '../api/client.ts';
import { type Outcome, OutcomeSign, outcomeColour } from '../parts/outcome.tsx';

export type Approval = Schemas['Approval'];
export type WholeApproval = Schemas['WholeApproval'];
export type State = Approval['state'];

export const states = ['pending', 'approved', 'used', 'denied', 'expired', 'cancelled'] as const satisfies readonly State[];

const signs: Readonly<Record<State, Outcome | null>> = {
  pending: 'ask',
  approved: 'allow',
  used: 'allow',
  denied: 'deny',
  expired: 'limit',
  cancelled: null,
};

const stateWords: Readonly<Record<State, string>> = {
  pending: 'waiting',
  approved: 'approved',
  used: 'approved and made',
  denied: 'denied',
  expired: 'expired',
  cancelled: 'cancelled',
};

export function StateWord({ state }: { readonly state: State }) {
  const sign = signs[state];
  return (
    <span
      style={{
        display: 'inline-flex',
        alignItems: 'center',
        gap: 6,
        whiteSpace: 'nowrap',
        color: sign === null ? 'var(--quiet)' : outcomeColour(sign),
      }}
    >
      {sign === null ? <Dash /> : <OutcomeSign outcome={sign} />}
      {stateWords[state]}
    </span>
  );
}

const Dash = () => (
  <svg
    width="14"
    height="14"
    viewBox="0 0 16 16"
    aria-hidden="true"
    fill="none"
    stroke="currentColor"
    strokeWidth="2"
    strokeLinecap="round"
  >
    <path d="M3 8h10" />
  </svg>
);
