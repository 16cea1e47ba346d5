// Retries steps of the books while the database is not available for a moment: a few tries, with increasing waits
// between them.
import { setTimeout as delay } from 'node:timers/promises';
import { isUnavailable } from '../../../base/unavailable.ts';

interface Tries {
  readonly afterMs: readonly number[];
  /** After it is aborted, no further try begins. The first try always runs. */
  readonly signal: AbortSignal;
  /** Can be more than the number of waits. Then the last wait applies to each further try. */
  readonly max?: number;
}

/** Each step must detect what an earlier try has already done. */
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
