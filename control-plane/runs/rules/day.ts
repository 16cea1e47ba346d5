// Computes the day of the daily cap. It is a UTC day, whatever the server's time zone.

const dayMs = 24 * 3_600_000;

/** Returns the day as `YYYY-MM-DD`. */
export const utcDayOf = (instant: Date): string => instant.toISOString().slice(0, 10);

/** Returns the next midnight UTC, which is always after `now` and never equal to it. */
export const nextMidnightUtc = (now: Date): Date => new Date((Math.floor(now.getTime() / dayMs) + 1) * dayMs);

/** Returns the seconds until the next midnight UTC, rounded up and at least 1. After this wait, it is a new day. */
export const secondsToMidnightUtc = (now: Date): number => Math.ceil((nextMidnightUtc(now).getTime() - now.getTime()) / 1000);
