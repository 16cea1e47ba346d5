// When a process is told to stop. A terminal and npm each pass Ctrl-C on, so that it comes twice: what comes within a second is the
// same word. Whoever says it again later does not want to wait.
type Signals = Pick<NodeJS.Process, 'on' | 'off'>;

export interface StopSignals {
  /** Aborted with the name of the first one. */
  readonly signal: AbortSignal;
  readonly close: () => void;
}

const sameWordMs = 1_000;
const names = ['SIGTERM', 'SIGINT'] as const;

/** `now` in ms; `again` is called with each signal that comes later than a second after the first. */
export function listenForStop(from: Signals, now: () => number, again: (name: NodeJS.Signals) => void): StopSignals {
  const stopped = new AbortController();
  let firstAt = 0;
  const hear = (name: NodeJS.Signals): void => {
    if (!stopped.signal.aborted) {
      firstAt = now();
      stopped.abort(name);
    } else if (now() - firstAt > sameWordMs) {
      again(name);
    }
  };
  for (const name of names) from.on(name, hear);
  return {
    signal: stopped.signal,
    close: () => {
      for (const name of names) from.off(name, hear);
    },
  };
}
