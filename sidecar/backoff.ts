// How long to wait before the next attempt: full jitter, so that a fleet which lost its control plane at one
// instant does not return at one instant. Used by all streams to the control plane.

export interface Backoff {
  /** The next wait in ms: anywhere below a ceiling that doubles with every call. */
  next(): number;
  /** An attempt succeeded: start over. */
  reset(): void;
}

/** Before the next attempt of who was told to stay away: long at once, and spread all the same. */
export const barredMs = (random: () => number, maxMs: number): number => maxMs * (0.5 + random() / 2);

export function createBackoff({ random, firstMs, maxMs }: { random: () => number; firstMs: number; maxMs: number }): Backoff {
  let ceilingMs = firstMs;
  return {
    next() {
      const waitMs = Math.floor(random() * ceilingMs);
      ceilingMs = Math.min(ceilingMs * 2, maxMs);
      return waitMs;
    },
    reset() {
      ceilingMs = firstMs;
    },
  };
}
