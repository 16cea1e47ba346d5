// Limits the number of requests of a key in any minute. The counts are in the memory of this replica. A key is
// forgotten after a minute without requests. When there are more than `keysMax` keys, the key with the oldest last
// request is forgotten.
import { AppError } from '@tollgate/proto/contract';

const windowMs = 60_000;
const keysMax = 10_000;

/**
 * How many writes a minute a key can make, for data that any member may write. Each write stays in the history
 * permanently. Our own clients write far less often.
 */
export const writesPerMinute = 600;

export interface RateLimit {
  /** Counts a request of `key`. Throws `rate_limited` with the seconds to wait. */
  take(key: string): void;
  /** Returns whether the next request of `key` would be refused. */
  isReached(key: string): boolean;
}

/** `what`: the words after the number in the error text. */
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

  const recentOf = (key: string, now: number): readonly number[] => (taken.get(key) ?? []).filter((time) => time > now - windowMs);

  return {
    isReached: (key) => recentOf(key, clock().getTime()).length >= perMinute,
    take(key) {
      const now = clock().getTime();
      sweep(now);
      const recent = recentOf(key, now);
      const oldest = recent[0];
      if (oldest !== undefined && recent.length >= perMinute) {
        const retryAfterSeconds = Math.max(1, Math.ceil((oldest + windowMs - now) / 1000));
        throw new AppError({
          code: 'rate_limited',
          publicMessage: `the limit is reached: at most ${perMinute} ${what}`,
          retryAfterSeconds,
        });
      }
      // Moves the key to the end of the map, because the map is ordered by the latest request.
      taken.delete(key);
      taken.set(key, [...recent, now]);
      const [quietest] = taken.keys();
      if (taken.size > max && quietest !== undefined) taken.delete(quietest);
    },
  };
}
