// A stream ends soon after the key that opened it is revoked, rotated, narrowed or expired, whatever else it waits for.
import type { Actor } from '../domain/access/actor.ts';
import { mayServe, onlySubOf } from '../domain/sidecars/forms.ts';
import { loggable } from '../loggable.ts';

export interface KeyWatch {
  /** Null where the key that opened the stream is worth nothing any more. */
  readonly stillStands: (actor: Actor) => Promise<Actor | null>;
  readonly log: { warn(fields: object, message: string): void };
}

/** A revoked key is felt within five seconds: this, and what the database may take to answer. */
const lookMs = 2_500;

/** `onFallen` is told why, in words for the one who called, until the returned function is called. */
export function watchKey({ stillStands, log }: KeyWatch, actor: Actor, onFallen: (details: string) => void): () => void {
  const look = async (): Promise<void> => {
    try {
      const now = await stillStands(actor);
      if (now === null) onFallen('this key was revoked or rotated, or has expired');
      else if (!mayServe(now, 'library') || onlySubOf(now) !== onlySubOf(actor))
        onFallen('this key may do less, or more, than it could; connect again');
    } catch (error) {
      // A database that is away takes nothing in and grants nothing; the next look will tell.
      log.warn({ err: loggable(error), workspace: actor.slug }, 'whether a key still stands could not be read');
    }
  };
  const looking = setInterval(() => void look(), lookMs);
  return () => clearInterval(looking);
}
