// Aborts at a signal or after a time, whichever comes first. `clear` removes the timer when the work is done.

export interface Deadline {
  readonly signal: AbortSignal;
  /** Whether the time expired first. */
  readonly isLate: () => boolean;
  readonly clear: () => void;
}

export function createDeadline(outer: AbortSignal, ms: number): Deadline {
  const inner = new AbortController();
  let late = false;
  const end = (): void => inner.abort(outer.reason);
  const timer = setTimeout(() => {
    late = true;
    inner.abort(new Error('too late'));
  }, ms);
  if (outer.aborted) end();
  outer.addEventListener('abort', end, { once: true });
  return {
    signal: inner.signal,
    isLate: () => late,
    clear: () => {
      clearTimeout(timer);
      outer.removeEventListener('abort', end);
    },
  };
}
