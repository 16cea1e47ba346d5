// Defines time for the parts of a sidecar. It is passed in, so that tests can control it. A part declares only what it
// uses of it.

export interface Timer {
  cancel(): void;
  /** This timer does not keep the process alive. */
  unref(): void;
}

export interface Clock {
  /** Ms. It never goes backwards. */
  now(): number;
  /** Ms since 1970. */
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
