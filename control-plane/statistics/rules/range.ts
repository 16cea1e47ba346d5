// The time that a request for counts is about, in whole buckets. Pure.
import { instantWords, parseInstant } from '../../base/instant.ts';
import type { Reader } from '../../audit/rules/audit-query.ts';

export const everies = ['minute', 'hour', 'day'] as const;
export type Every = (typeof everies)[number];

export interface Range {
  readonly every: Every;
  readonly since: Date;
  /** Exclusive. */
  readonly until: Date;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
export const bucketMs: Readonly<Record<Every, number>> = { minute: 60_000, hour: hourMs, day: dayMs };
/** The longest time that is shown by minutes, and by hours, if the caller does not choose. */
const fits = { minute: 3 * hourMs, hour: 8 * dayMs } as const;
export const bucketsMax = 1_500;
const standardMs = hourMs;

/** Reads `every`, `since` and `until`. Without them, they are those of the page before, or the last hour. */
export function readRange(reader: Reader, before: Range | null, now: Date): Range {
  const asked = reader.read('every', everyOf, `must be ${everies.join(', ')}`);
  const until = reader.read('until', parseInstant, instantWords) ?? before?.until ?? now;
  const since =
    reader.read('since', parseInstant, instantWords) ?? before?.since ?? new Date(Math.max(firstMs, until.getTime() - standardMs));
  if (since >= until) reader.note('since', 'must be before until');
  const every = asked ?? before?.every ?? fitting(until.getTime() - since.getTime());
  const range = { every, since: downTo(since, every), until: upTo(until, every) };
  const buckets = (range.until.getTime() - range.since.getTime()) / bucketMs[every];
  if (buckets > bucketsMax)
    reader.note(
      'since',
      `must be at most ${bucketsMax} ${every}s before until, but is ${Math.round(buckets)} before it${otherwise[every]}`,
    );
  return range;
}

const otherwise: Readonly<Record<Every, string>> = {
  minute: '; for a longer time, ask for every=hour or every=day',
  hour: '; for a longer time, ask for every=day',
  day: '',
};

const everyOf = (text: string): Every | null => everies.find((one) => one === text) ?? null;

const fitting = (ms: number): Every => (ms <= fits.minute ? 'minute' : ms <= fits.hour ? 'hour' : 'day');

const firstMs = Date.parse('0001-01-01T00:00:00.000Z');
const lastMs = Date.parse('9999-12-31T00:00:00.000Z');

/** Returns the start of the bucket of an instant. */
export const downTo = (instant: Date, every: Every): Date =>
  new Date(Math.max(firstMs, Math.floor(instant.getTime() / bucketMs[every]) * bucketMs[every]));

const upTo = (instant: Date, every: Every): Date =>
  new Date(Math.min(lastMs, Math.ceil(instant.getTime() / bucketMs[every]) * bucketMs[every]));
