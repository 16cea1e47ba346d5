// Computes the wait before the next attempt, with full jitter. So sidecars that lost their control plane at the same
// time do not reconnect at the same time. All streams to the control plane use it.

export interface Backoff {
  /** Returns the next wait in ms: a random value below a ceiling that doubles with every call. */
  next(): number;
  /** Call this after a successful attempt. It resets the ceiling. */
  reset(): void;
}

/**
 * Returns the wait in ms before the next attempt after a refusal. It is a random value between half of `maxMs` and
 * `maxMs`, from the first attempt on.
 */
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
