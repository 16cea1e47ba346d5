// A clock that advances only when a test says so.
import type { Clock } from '../../sidecar/base/clock.ts';

export interface ManualClock extends Clock {
  /** Runs the timers that are due, in order. */
  advance(ms: number): void;
  /** The remaining times of the timers, ascending. */
  readonly waits: readonly number[];
}

export function createManualClock(startMs = Date.UTC(2026, 0, 1)): ManualClock {
  let nowMs = startMs;
  let timers: { readonly at: number; readonly run: () => void }[] = [];

  return {
    now: () => nowMs,
    wallTime: () => nowMs,
    after(ms, run) {
      const timer = { at: nowMs + ms, run };
      timers.push(timer);
      return {
        cancel() {
          timers = timers.filter((other) => other !== timer);
        },
        unref() {},
      };
    },
    advance(ms) {
      const until = nowMs + ms;
      for (;;) {
        const [next] = timers.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at);
        if (!next) break;
        timers = timers.filter((other) => other !== next);
        nowMs = Math.max(nowMs, next.at);
        next.run();
      }
      nowMs = until;
    },
    get waits() {
      return timers.map(({ at }) => at - nowMs).sort((a, b) => a - b);
    },
  };
}
