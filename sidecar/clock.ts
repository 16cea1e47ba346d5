// Time as a sidecar's parts see it: passed in, so that tests move it by hand. A part asks for what it uses of it.

export interface Timer {
  cancel(): void;
  /** Do not keep the process alive for this one. */
  unref(): void;
}

export interface Clock {
  /** Ms, never goes back. */
  now(): number;
  /** Ms since 1970. */
  wall(): number;
  after(ms: number, run: () => void): Timer;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  wall: Date.now,
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return { cancel: () => clearTimeout(timer), unref: () => void timer.unref() };
  },
};
