// The time that a search covers: the last hour or day, as it moves on, or fixed instants. Pure.

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

/** The same middle, and three times as long. An instant that cannot be read is taken as the range of an hour, up to now. */
export function widened({ since, until }: TimeRange, now: number): { readonly since: string; readonly until: string | undefined } {
  const to = readOr(until ?? '', now);
  const from = readOr(since, to - standard.ms);
  const wide = to + (to - from);
  return { since: isoOf(from - (to - from)), until: wide >= now ? undefined : isoOf(wide) };
}

function readOr(instant: string, otherwise: number): number {
  const ms = Date.parse(instant);
  return Number.isNaN(ms) ? otherwise : ms;
}

/** The farthest from 1970 that a date can be. */
const dateMsMax = 8.64e15;
const isoOf = (ms: number): string => new Date(Math.min(Math.max(ms, -dateMsMax), dateMsMax)).toISOString();
