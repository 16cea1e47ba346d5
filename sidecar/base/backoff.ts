// Computes the wait before the next attempt, with full jitter. Thus a fleet that lost its control plane at one instant
// does not return at one instant. All streams to the control plane use it.

export interface Backoff {
  /** Returns the next wait in ms: a random value below a ceiling that doubles with every call. */
  next(): number;
  /** Call this after a successful attempt: the ceiling is reset. */
  reset(): void;
}

/** Returns the wait before the next attempt after a refusal: long from the start, and still spread. */
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
