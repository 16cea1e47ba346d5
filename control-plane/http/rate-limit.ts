// At most so many requests of a key in any minute. In memory of this replica; keys that were quiet for a minute are
// forgotten, and so are those that were quiet longest when there are more than `keysMax`.
import { AppError } from '@tollgate/proto/contract';

const windowMs = 60_000;
const keysMax = 10_000;

/** Of what any member may write, for each key: each write stays in the history for good, and no client of ours comes near. */
export const writesPerMinute = 600;

export interface RateLimit {
  /** Counts a request of `key`; throws `rate_limited` with the seconds to wait. */
  take(key: string): void;
}

/** `what`: after the number, in the words of the refusal. */
export function createRateLimit(
  clock: () => Date,
  perMinute: number,
  what = 'PATCH requests a minute for each key',
  max = keysMax,
): RateLimit {
  const taken = new Map<string, readonly number[]>();
  let sweptAt = 0;

  const sweep = (now: number): void => {
    if (now - sweptAt < windowMs) return;
    sweptAt = now;
    for (const [key, times] of taken) {
      if ((times.at(-1) ?? 0) <= now - windowMs) taken.delete(key);
    }
  };

  return {
    take(key) {
      const now = clock().getTime();
      sweep(now);
      const recent = (taken.get(key) ?? []).filter((time) => time > now - windowMs);
      const oldest = recent[0];
      if (oldest !== undefined && recent.length >= perMinute) {
        const retryAfterSeconds = Math.max(1, Math.ceil((oldest + windowMs - now) / 1000));
        throw new AppError({
          code: 'rate_limited',
          publicMessage: `at most ${perMinute} ${what}`,
          retryAfterSeconds,
        });
      }
      // To the end of the map, where the latest are.
      taken.delete(key);
      taken.set(key, [...recent, now]);
      const [quietest] = taken.keys();
      if (taken.size > max && quietest !== undefined) taken.delete(quietest);
    },
  };
}
