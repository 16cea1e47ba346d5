// Limits the requests per second of each key, across all endpoints of the process. This is not a limit of the policy.
// It prevents one caller from using the whole capacity of the process. A request that it refuses is not a call. The
// number of refused requests is written in one entry for each key and second (refused-requests.ts).
//
// States of a key's bucket: it is full at the key's first request, has at most one second's worth of requests, and
// refills over time. It is evicted when it is the least recently used of `keysMax` buckets. It is full again at the
// key's next request.
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../base/clock.ts';
import type { EntranceRefusal } from './key.ts';

export const requestsPerSecondDefault = 1_000;

const keysMax = 10_000;

interface Bucket {
  tokens: number;
  /** The monotonic time of the last request, in ms. */
  at: number;
}

export interface RequestLimit {
  /** Counts a request of the key. Null: the request is within the limit. */
  take(keyId: string): EntranceRefusal | null;
}

export function createRequestLimit(clock: Pick<Clock, 'now'>, perSecond: number, max = keysMax): RequestLimit {
  const buckets = new LRUCache<string, Bucket>({ max });
  const bucketOf = (keyId: string, now: number): Bucket => {
    const known = buckets.get(keyId);
    if (known !== undefined) return known;
    const bucket = { tokens: perSecond, at: now };
    buckets.set(keyId, bucket);
    return bucket;
  };
  return {
    take: (keyId) => {
      const now = clock.now();
      const bucket = bucketOf(keyId, now);
      bucket.tokens = Math.min(perSecond, bucket.tokens + (Math.max(0, now - bucket.at) * perSecond) / 1000);
      bucket.at = now;
      if (bucket.tokens < 1) return tooMany(perSecond, Math.ceil(((1 - bucket.tokens) * 1000) / perSecond));
      bucket.tokens -= 1;
      return null;
    },
  };
}

const tooMany = (perSecond: number, retryAfterMs: number): EntranceRefusal => ({
  status: 429,
  code: 'request_limit',
  error: `at most ${perSecond} requests a second for each key`,
  retryAfterMs,
});
