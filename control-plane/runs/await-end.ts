// Waits until the end of a run is recorded. After the run's deadline or a cancel, the wait is short, because a caller
// waits for the result.
import { AppError } from '@tollgate/proto/contract';
import type { Clock } from '@tollgate/sidecar/engine';
import { untilAborted } from '../base/until-aborted.ts';

/**
 * How long to wait for the record after the run's deadline, in ms. Recording continues after that, but the caller here
 * is not notified of it.
 */
const recordMs = 1_500;

/**
 * Resolves as `ending` does. Rejects when that takes longer than `recordMs` after the run reached its deadline or was
 * cancelled.
 */
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
    publicMessage: 'the run has ended, but its end could not be recorded yet; read the run later to see its result',
    retryAfterSeconds: 5,
  });
