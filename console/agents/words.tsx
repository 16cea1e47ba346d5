// Words about agents that several pages show, with their signs.
import { outcomeColour, OutcomeSign } from '../parts/outcome.tsx';

export function Denied({ count }: { readonly count: number }) {
  if (count === 0) return <>0</>;
  return (
    <span style={{ display: 'inline-flex', alignItems: 'center', gap: 5, color: outcomeColour('deny') }}>
      <OutcomeSign outcome="deny" size={12} />
      {count.toLocaleString()}
    </span>
  );
}

export function AgentState({ isSuspended }: { readonly isSuspended: boolean }) {
  if (!isSuspended) return <>active</>;
  return (
    <span style={{ display: 'inline-flex', alignItems: 'center', gap: 6, color: outcomeColour('deny'), whiteSpace: 'nowrap' }}>
      <OutcomeSign outcome="deny" />
      suspended
    </span>
  );
}
