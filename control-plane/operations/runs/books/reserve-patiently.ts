// Waits for money that others have put aside, and have not spent: not for ever.
import { setTimeout as delay } from 'node:timers/promises';
import type { Reserved } from '../../../runs/money.ts';
import type { Weighed } from './reserve.ts';

interface Waiting {
  readonly busyMs: number;
  readonly signal: AbortSignal;
}

const askAgainMs = 250;

/** `weigh` is asked for what there is once nothing is waited for any more. Rejects with an abort error once the signal is aborted; what is being weighed by then may yet be granted. */
export async function reservePatiently(weigh: (isLast: boolean) => Promise<Weighed>, { busyMs, signal }: Waiting): Promise<Reserved> {
  for (let waitedMs = 0; ; waitedMs += askAgainMs) {
    const isLast = waitedMs >= busyMs;
    const weighed = await weigh(isLast);
    if (weighed.kind !== 'busy') return weighed;
    if (isLast) return { kind: 'exhausted', bound: weighed.bound };
    await delay(askAgainMs, undefined, { signal });
  }
}
