// The time that a search covers: the last hour or day, as it moves on, or fixed instants. Pure.
import type { Bucket } from '../parts/histogram.tsx';
import { outcomes } from '../parts/outcome.tsx';
import type { DecisionCounts } from './stats.ts';

export const lasts = [
  { value: '15m', label: '15 min', ms: 15 * 60_000 },
  { value: '1h', label: '1 h', ms: 3_600_000 },
  { value: '24h', label: '24 h', ms: 24 * 3_600_000 },
  { value: '7d', label: '7 d', ms: 7 * 86_400_000 },
  { value: '30d', label: '30 d', ms: 30 * 86_400_000 },
] as const;

const standard = lasts[1];

interface Asked {
  readonly last?: string;
  readonly since?: string;
  readonly until?: string;
}

export interface TimeRange {
  readonly since: string;
  /** Exclusive. Null: up to now. */
  readonly until: string | null;
  /** Null: fixed instants. */
  readonly last: string | null;
}

/** `now`: when the search began. An instant that cannot be read is left to the API, which says so. */
export function rangeOf({ last, since, until }: Asked, now: number): TimeRange {
  if (since === undefined && until === undefined) {
    const found = lasts.find(({ value }) => value === last) ?? standard;
    return { since: new Date(now - found.ms).toISOString(), until: null, last: found.value };
  }
  const end = Date.parse(until ?? '');
  return {
    since: since ?? new Date((Number.isNaN(end) ? now : end) - standard.ms).toISOString(),
    until: until ?? null,
    last: null,
  };
}

/** The same middle, and three times as long. */
export function widened({ since, until }: TimeRange, now: number): { readonly since: string; readonly until: string | undefined } {
  const from = Date.parse(since);
  const to = until === null ? now : Date.parse(until);
  const wide = to + (to - from);
  return { since: new Date(from - (to - from)).toISOString(), until: wide >= now ? undefined : new Date(wide).toISOString() };
}

const lengths = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };
const bucketsMax = 240;

/** The buckets of an answer without gaps. If there would be too many, several are one. */
export function bucketsOf(answer: DecisionCounts): { readonly buckets: readonly Bucket[]; readonly bucketMs: number } {
  const first = Date.parse(answer.since);
  const span = Math.max(0, Date.parse(answer.until) - first);
  const length = lengths[answer.every];
  const bucketMs = length * Math.max(1, Math.ceil(span / length / bucketsMax));
  const buckets = Array.from({ length: Math.ceil(span / bucketMs) }, (_, index) => ({
    at: new Date(first + index * bucketMs).toISOString(),
    counts: { allow: 0, redact: 0, ask: 0, limit: 0, deny: 0 },
  }));
  for (const { value, counts } of answer.groups) {
    const outcome = outcomes.find((one) => one === value);
    if (outcome === undefined) continue;
    for (const { at, count } of counts) {
      const bucket = buckets[Math.floor((Date.parse(at) - first) / bucketMs)];
      if (bucket !== undefined) bucket.counts[outcome] += count;
    }
  }
  return { buckets, bucketMs };
}
