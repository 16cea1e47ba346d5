// Waits a limited time for money that other calls have reserved and not spent.
import { setTimeout as delay } from 'node:timers/promises';
import type { MoneyReservation } from '../../money.ts';
import type { ReserveAttempt } from './reserve.ts';

interface ReserveWait {
  readonly busyMs: number;
  readonly signal: AbortSignal;
}

const askAgainMs = 250;

/**
 * `weigh` is called with true for the last try, which accepts the amount that is available. Rejects with an abort error
 * when the signal is aborted. A `weigh` that is running then can still grant a reservation.
 */
export async function reservePatiently(
  weigh: (isLast: boolean) => Promise<ReserveAttempt>,
  { busyMs, signal }: ReserveWait,
): Promise<MoneyReservation> {
  for (let waitedMs = 0; ; waitedMs += askAgainMs) {
    const isLast = waitedMs >= busyMs;
    const weighed = await weigh(isLast);
    if (weighed.kind !== 'busy') return weighed;
    if (isLast) return { kind: 'exhausted', bound: weighed.bound };
    await delay(askAgainMs, undefined, { signal });
  }
}
