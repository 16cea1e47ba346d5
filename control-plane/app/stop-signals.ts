// Detects when the process must stop. A terminal and npm both pass Ctrl-C on, so the signal arrives twice. Signals
// within one second count as one. A later signal means that the user does not want to wait.
type Signals = Pick<NodeJS.Process, 'on' | 'off'>;

export interface StopSignals {
  /** Aborted with the name of the first signal. */
  readonly signal: AbortSignal;
  readonly close: () => void;
}

const sameWordMs = 1_000;
const names = ['SIGTERM', 'SIGINT'] as const;

/** `now` is in ms. `again` is called with each signal that arrives more than one second after the first. */
export function listenForStop(from: Signals, now: () => number, again: (name: NodeJS.Signals) => void): StopSignals {
  const stopped = new AbortController();
  let firstAt = 0;
  const onSignal = (name: NodeJS.Signals): void => {
    if (!stopped.signal.aborted) {
      firstAt = now();
      stopped.abort(name);
    } else if (now() - firstAt > sameWordMs) {
      again(name);
    }
  };
  for (const name of names) from.on(name, onSignal);
  return {
    signal: stopped.signal,
    close: () => {
      for (const name of names) from.off(name, onSignal);
    },
  };
}
