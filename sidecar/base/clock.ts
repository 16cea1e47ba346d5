// Defines the clock and the timers that the parts of a sidecar use. The clock is passed in, so that tests can control
// the time. Each part declares only the functions that it uses.

export interface Timer {
  cancel(): void;
  /** Permits the process to end while this timer is running. */
  unref(): void;
}

export interface Clock {
  /** Returns a time in ms that never goes backwards. */
  now(): number;
  /** Returns the time of day, in ms since 1970. */
  wallTime(): number;
  after(ms: number, run: () => void): Timer;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  wallTime: Date.now,
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return { cancel: () => clearTimeout(timer), unref: () => void timer.unref() };
  },
};
