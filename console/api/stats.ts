// Counts of decisions over time.
import type { Bucket } from '../parts/histogram.tsx';
import { outcomes } from '../parts/outcome.tsx';
import { type Api, read } from './client.ts';
import type { paths } from './schema.d.ts';

type Decisions = paths['/{workspace}/admin/stats/decisions']['get'];
export type Stats = Decisions['responses']['200']['content']['application/json'];
export type StatsQuery = NonNullable<Decisions['parameters']['query']>;

export const fetchStats = (api: Api, workspace: string, query: StatsQuery): Promise<Stats> =>
  read(api.GET('/{workspace}/admin/stats/decisions', { params: { path: { workspace }, query } }));

export type StatsGroup = Stats['groups'][number];

const lengths = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;
const bucketsMax = 240;

/** Returns the buckets of an answer by outcome, without gaps. If there would be too many, several are one. */
export function bucketsOf(answer: Stats): { readonly buckets: readonly Bucket[]; readonly bucketMs: number } {
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
