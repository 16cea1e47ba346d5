// The wait for a run's end to be in the records: not for long once the run is over time, since somebody waits for its result.
import { AppError } from '@tollgate/proto/contract';
import type { Clock } from '@tollgate/sidecar/embed';
import { untilAborted } from '../until-aborted.ts';

/** How much longer than the run may last its end is waited for: it goes on to be recorded, and nobody is told of it here. */
const recordMs = 1_500;

/** What `ending` comes to; rejects where that takes too long once the run is over time, or was cancelled. */
export async function awaitEnd<T>(ending: Promise<T>, clock: Clock, signal: AbortSignal): Promise<T> {
  const late = new AbortController();
  const count = (): void => clock.after(recordMs, () => late.abort(unrecorded())).unref();
  if (signal.aborted) count();
  else signal.addEventListener('abort', count, { once: true });
  try {
    return await untilAborted(ending, late.signal);
  } finally {
    signal.removeEventListener('abort', count);
  }
}

const unrecorded = (): AppError =>
  new AppError({
    code: 'unavailable',
    publicMessage: 'the run has ended, and its end could not be recorded yet; read the run to see what it came to',
    retryAfterSeconds: 5,
  });
