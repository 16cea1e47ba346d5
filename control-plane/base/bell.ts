// Wakes a stream that waits for a change.

export interface Bell {
  /** A ring while no one waits is kept. */
  ring(): void;
  /** Resolves at a ring, after `ms`, or when the signal is aborted. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

export function createBell(): Bell {
  let hasRung = false;
  let wake: (() => void) | null = null;
  return {
    ring: () => {
      hasRung = true;
      wake?.();
    },
    wait: async (ms, signal) => {
      if (!hasRung && !signal.aborted)
        await new Promise<void>((done) => {
          const finish = (): void => {
            clearTimeout(timer);
            signal.removeEventListener('abort', finish);
            wake = null;
            done();
          };
          const timer = setTimeout(finish, ms);
          wake = finish;
          signal.addEventListener('abort', finish, { once: true });
        });
      hasRung = false;
    },
  };
}
