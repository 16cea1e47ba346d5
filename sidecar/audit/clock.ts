// Time as the audit parts see it: passed in, so that tests move it by hand.

export interface Timer {
  cancel(): void;
  /** Do not keep the process alive for this one. */
  unref(): void;
}

export interface Clock {
  /** Milliseconds since 1970. */
  wall(): number;
  after(ms: number, run: () => void): Timer;
}

export const systemClock: Clock = {
  wall: Date.now,
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return { cancel: () => clearTimeout(timer), unref: () => void timer.unref() };
  },
};
