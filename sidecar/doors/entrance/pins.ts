// Overrides agent and tier of every call through this sidecar, whatever the caller claims. The sidecar serves one
// agent, and its operator knows which one. Like a key's pin, a sidecar's pin replaces the last agent of the chain and
// keeps the agents above it. A key's pin has priority.
import type { Tier } from '@tollgate/proto/contract';
import type { CallerClaim, Sessions } from '../sessions/sessions.ts';

export interface Pins {
  readonly agent: string | null;
  readonly tier: Tier | null;
}

export const noPins: Pins = { agent: null, tier: null };

/** Returns sessions that use the sidecar's pins in place of the agent and tier that the caller claims. */
export function overrideClaims(sessions: Sessions, { agent, tier }: Pins): Sessions {
  if (agent === null && tier === null) return sessions;
  const pinned = (claimed: CallerClaim): CallerClaim => ({
    ...claimed,
    chain: agent === null ? claimed.chain : [...claimed.chain.slice(0, -1), agent],
    tier: tier ?? claimed.tier,
  });
  return {
    find: (identity, claimed) => sessions.find(identity, pinned(claimed)),
    reserveCost: (identity, claimed, cost) => sessions.reserveCost(identity, pinned(claimed), cost),
    settleCost: (identity, claimed, cost) => sessions.settleCost(identity, pinned(claimed), cost),
  };
}
