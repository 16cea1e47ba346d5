// Limits the number of open streams of one service in a control plane: for each workspace, and within it for each key.
// One key therefore leaves places for the others.
import type { Actor } from '../access/rules/actor.ts';
import { createSeats } from '../base/turns.ts';

export interface StreamSeats {
  /**
   * Returns a function that frees the seat. If there is no free seat, returns whether the key or the workspace has used
   * up its seats.
   */
  take(actor: Pick<Actor, 'workspaceId' | 'keyId'>): { readonly leave: () => void } | { readonly taken: 'key' | 'workspace' };
}

export interface SeatBounds {
  readonly ofWorkspace: number;
  readonly ofKey: number;
}

/**
 * The bounds of each service. A fleet of sidecars shares one key. When its streams move to other control planes, it
 * needs twice the seats for a moment.
 */
export const seatBounds: SeatBounds = { ofWorkspace: 10_000, ofKey: 5_000 };

export function createStreamSeats({ ofWorkspace, ofKey }: SeatBounds = seatBounds): StreamSeats {
  const workspaces = createSeats<number>({ each: ofWorkspace });
  const keys = createSeats<string>({ each: ofKey });
  return {
    take: ({ workspaceId, keyId }) => {
      const inKey = keys.take(keyId);
      if ('taken' in inKey) return { taken: 'key' };
      const inWorkspace = workspaces.take(workspaceId);
      if ('leave' in inWorkspace)
        return {
          leave: () => {
            inKey.leave();
            inWorkspace.leave();
          },
        };
      inKey.leave();
      return { taken: 'workspace' };
    },
  };
}
