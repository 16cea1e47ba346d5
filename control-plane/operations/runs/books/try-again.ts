// What the books ask of a database that may be away for a moment: a few tries, with longer and longer waits between them.
import { setTimeout as delay } from 'node:timers/promises';
import { isUnavailable } from '../../../store/unavailable.ts';

interface Tries {
  readonly afterMs: readonly number[];
  /** No try begins once it is aborted, but the first. */
  readonly signal: AbortSignal;
  /** More than there are waits: the last wait for each further one. */
  readonly max?: number;
}

/** Every step finds out what an earlier try has done already. */
export async function tryAgain<T>(step: () => Promise<T>, { afterMs, signal, max = afterMs.length }: Tries): Promise<T> {
  for (let tried = 0; tried < max; tried += 1) {
    try {
      return await step();
    } catch (reason) {
      if (!isUnavailable(reason) || signal.aborted) throw reason;
      await delay(afterMs[Math.min(tried, afterMs.length - 1)], undefined, { signal }).catch(() => undefined);
    }
  }
  return step();
}
