// Ends a stream soon after the key that opened it is revoked, rotated, narrowed or expired, whatever the stream waits
// for.
import type { Actor } from '../access/rules/actor.ts';
import { mayServe, onlySubOf } from '../sidecars/rules/forms.ts';
import { loggable } from '../base/loggable.ts';

export interface KeyWatch {
  /** Returns null if the key that opened the stream is no longer valid. */
  readonly stillStands: (actor: Actor) => Promise<Actor | null>;
  /** Calls the function every `lookMs`, until the returned function is called. */
  readonly looks: (call: () => void) => () => void;
  readonly log: { warn(fields: object, message: string): void };
}

/** A revocation takes effect within five seconds: this interval, and the time for the database to answer. */
export const lookMs = 2_500;

/**
 * Calls `onFallen` when the key is no longer valid or has lost permissions. `details` is the reason, in words for the
 * caller. The returned function ends the checks.
 */
export function watchKey({ stillStands, looks, log }: KeyWatch, actor: Actor, onFallen: (details: string) => void): () => void {
  const look = async (): Promise<void> => {
    try {
      const now = await stillStands(actor);
      if (now === null) onFallen('this key was revoked or rotated, or has expired');
      else if (!mayServe(now, 'library') || onlySubOf(now) !== onlySubOf(actor) || mayServe(now, 'process') !== mayServe(actor, 'process'))
        onFallen('the permissions of this key have changed; connect again');
    } catch (error) {
      // The stream stays open, because a database that is not available stores nothing and grants nothing. The next
      // check will show the state of the key.
      log.warn({ err: loggable(error), workspace: actor.slug }, 'the validity of a key could not be checked');
    }
  };
  return looks(() => void look());
}
