// Checks once whether a key is still valid, for all streams that the key has opened.
import type { Actor } from '../access/rules/actor.ts';

type StillStands = (actor: Actor) => Promise<Actor | null>;

interface Look {
  readonly at: number;
  readonly answer: Promise<Actor | null>;
}

/** How long an answer is reused. It adds to the time until a revocation takes effect. */
const servesMs = 1_000;
/** Maximum number of keys whose answers are kept. If there are more, some keys are checked again earlier. */
const looksMax = 10_000;

/** `now` is in ms, from any start point. */
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
