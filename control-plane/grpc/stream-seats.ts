// How many streams of one service a control plane keeps open: so many of a workspace, and of these so many of one key, so that one key
// leaves places to the others.
import type { Actor } from '../domain/access/actor.ts';
import { createSeats } from '../operations/turns.ts';

export interface StreamSeats {
  /** How to leave it; or whose seats are all taken. */
  take(actor: Pick<Actor, 'workspaceId' | 'keyId'>): { readonly leave: () => void } | { readonly taken: 'key' | 'workspace' };
}

export interface SeatBounds {
  readonly ofWorkspace: number;
  readonly ofKey: number;
}

/** Of each service. A fleet shares one key, and for a moment it is there twice, when its streams move. */
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
