// Counts of decisions over time.
import type { Bucket } from '../parts/histogram.tsx';
import { type Outcome, outcomes } from '../parts/outcome.tsx';
import { type Api, read } from './client.ts';
import type { paths } from './schema.d.ts';

type Decisions = paths['/{workspace}/admin/stats/decisions']['get'];
export type Stats = Decisions['responses']['200']['content']['application/json'];
export type StatsQuery = NonNullable<Decisions['parameters']['query']>;

export const fetchStats = (api: Api, workspace: string, query: StatsQuery): Promise<Stats> =>
  read(api.GET('/{workspace}/admin/stats/decisions', { params: { path: { workspace }, query } }));

/** The length of a bucket, in milliseconds. */
export const bucketMs = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;

/** Returns a bucket for each part of the range, also for those without calls. `stats`: by outcome. */
export function bucketsOf({ every, since, until, groups }: Stats): readonly Bucket[] {
  const counts = new Map<number, Partial<Record<string, number>>>();
  for (const { value, counts: ofGroup } of groups)
    for (const { at, count } of ofGroup) {
      const key = Date.parse(at);
      counts.set(key, { ...counts.get(key), [value]: count });
    }
  const buckets: Bucket[] = [];
  for (let at = Date.parse(since); at < Date.parse(until); at += bucketMs[every]) {
    const found = counts.get(at);
    const ofBucket = Object.fromEntries(outcomes.map((outcome) => [outcome, found?.[outcome] ?? 0])) as Record<Outcome, number>;
    buckets.push({ at: new Date(at).toISOString(), counts: ofBucket });
  }
  return buckets;
}
