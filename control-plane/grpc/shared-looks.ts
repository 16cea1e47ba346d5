// Whether a key still stands is asked once for all streams that it opened, however many they are.
import type { Actor } from '../domain/access/actor.ts';

type StillStands = (actor: Actor) => Promise<Actor | null>;

interface Look {
  readonly at: number;
  readonly answer: Promise<Actor | null>;
}

/** An answer serves so long; it adds to how long a revoked key goes on. */
const servesMs = 1_000;
/** Of keys. More, and some are asked for again. */
const looksMax = 10_000;

/** `now` in ms, from any beginning. */
export function shareLooks(stillStands: StillStands, now: () => number): StillStands {
  const looks = new Map<string, Look>();
  return (actor) => {
    const { hash } = actor.credential;
    const at = now();
    const known = looks.get(hash);
    if (known !== undefined && at - known.at < servesMs) return known.answer;
    if (looks.size >= looksMax) looks.clear();
    const answer = stillStands(actor);
    looks.set(hash, { at, answer });
    return answer;
  };
}
