// What a sidecar says of every call that comes through it, whatever the caller claims: it stands beside one agent, and
// who runs it knows which. As a key's pin does, it replaces the caller and leaves the chain above; a key's goes first.
import type { Tier } from '@tollgate/proto/contract';
import type { Sessions } from './sessions/sessions.ts';

export interface Pins {
  readonly agent: string | null;
  readonly tier: Tier | null;
}

export const noPins: Pins = { agent: null, tier: null };

export function pinned(sessions: Sessions, { agent, tier }: Pins): Pick<Sessions, 'find'> {
  if (agent === null && tier === null) return sessions;
  return {
    find: (identity, claimed) =>
      sessions.find(identity, {
        ...claimed,
        chain: agent === null ? claimed.chain : [...claimed.chain.slice(0, -1), agent],
        tier: tier ?? claimed.tier,
      }),
  };
}
