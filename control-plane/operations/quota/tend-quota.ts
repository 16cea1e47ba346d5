// A chore of every control plane: counters of which nothing counts any more go. Safe to run twice at once.
import { deleteSpentCounters } from '../../store/quota.ts';
import type { Deps } from '../operation.ts';

/** In one statement, so that none is long. */
const atOnce = 5_000;

/** Returns how many went. */
export async function tendQuota({ pool }: Pick<Deps, 'pool'>): Promise<number> {
  let gone = 0;
  for (;;) {
    const count = await deleteSpentCounters(pool, atOnce);
    gone += count;
    if (count < atOnce) return gone;
  }
}
