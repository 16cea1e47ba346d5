// Calls counted in steps of one second. A call made in step c is charged through step c + seconds, so that no window of
// that many seconds, wherever it begins, ever holds more than the limit.
//
// States: `head` is the newest step seen; `counts` is a ring of the seconds + 1 steps that end there; `total` is their
// sum. Moving the head forward clears the steps that fell out. A clock that goes back is read as the head.

export interface Window {
  /** Calls charged at `now`. */
  used(now: number): number;
  add(now: number): void;
  /** Ms until fewer than `max` calls are charged; null when no wait helps. */
  waitFor(max: number, now: number): number | null;
  /** Whether nothing is charged any more, so that the window may be forgotten. */
  idle(now: number): boolean;
  /** What is charged, by step. */
  charges(): readonly (readonly [step: number, count: number])[];
}

/** `charged`: what a window of another length had counted. */
export function createWindow(seconds: number, charged: ReturnType<Window['charges']> = []): Window {
  const ring = seconds + 1;
  const counts = new Uint32Array(ring);
  let head = Number.NEGATIVE_INFINITY;
  let total = 0;

  const advance = (now: number): void => {
    const step = Math.floor(now / 1000);
    if (step <= head) return;
    if (step - head >= ring) {
      if (total > 0) counts.fill(0);
      total = 0;
    } else {
      for (let at = head + 1; at <= step; at++) {
        total -= counts[at % ring] ?? 0;
        counts[at % ring] = 0;
      }
    }
    head = step;
  };

  const add = (now: number, count: number): void => {
    advance(now);
    counts[head % ring] = (counts[head % ring] ?? 0) + count;
    total += count;
  };
  for (const [step, count] of charged) add(step * 1000, count);

  return {
    used: (now) => {
      advance(now);
      return total;
    },
    add: (now) => add(now, 1),
    waitFor: (max, now) => {
      advance(now);
      if (max === 0) return null;
      let charged = total;
      for (let step = head - seconds; charged >= max && step <= head; step++) {
        charged -= step < 0 ? 0 : (counts[step % ring] ?? 0);
        if (charged < max) return Math.max(0, (step + ring) * 1000 - now);
      }
      return 0;
    },
    idle: (now) => {
      advance(now);
      return total === 0;
    },
    charges: () => {
      if (total === 0) return [];
      const steps = Array.from({ length: ring }, (_, at) => head - seconds + at).filter((step) => step >= 0);
      return steps.map((step) => [step, counts[step % ring] ?? 0] as const).filter(([, count]) => count > 0);
    },
  };
}
