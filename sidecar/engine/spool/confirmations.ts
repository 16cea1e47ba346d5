// Implements durability `remote`: callers wait until the control plane has committed their entries, which are already
// written on this machine. After at most `waitMs`, each caller learns that its entry is committed, or that this is
// unknown. `append.ts` of one live spool uses this.
//
// States: answering: new callers wait. Silent: a wait has ended without success and nothing was acknowledged since. New
// callers are then rejected at once, because it is useless to wait for a control plane that is known to be unavailable.
// The entries are still written and shipped. The first acknowledgement ends the silent state.
import type { Clock, Timer } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { AuditUnavailable } from './unavailable.ts';

export interface Confirmations {
  /** True: the maximum number of callers is waiting. */
  readonly isFull: boolean;
  /**
   * Resolves when the entry is committed. Rejects with `AuditUnavailable` (`unconfirmed`). Each call must have a higher
   * sequence than the call before.
   */
  wait(sequence: number): Promise<void>;
  acknowledge(sequence: number): void;
  /** Rejects all waiting callers, because no acknowledgement will be delivered any more. */
  close(): void;
}

interface Waiting {
  readonly sequence: number;
  readonly until: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** The maximum number of callers that wait at one time. */
const waitingMax = 16_384;

export function createConfirmations(
  { clock, log }: { clock: Clock; log: Log },
  { waitMs, acknowledged: from }: { waitMs: number; acknowledged: number },
): Confirmations {
  const waiting: Waiting[] = [];
  let acknowledged = from;
  let isSilent = false;
  let isClosed = false;
  let timer: Timer | undefined;

  function expire(): void {
    timer = undefined;
    const now = clock.now();
    const next = waiting.findIndex(({ until }) => until > now);
    const late = waiting.splice(0, next < 0 ? waiting.length : next);
    if (late.length > 0 && !isSilent) {
      isSilent = true;
      log.warn({ waitMs }, 'the control plane does not commit audit entries in time');
    }
    for (const { reject } of late) reject(unconfirmed());
    arm();
  }

  // One timer is enough for all callers: the caller that arrived first reaches its time limit first.
  function arm(): void {
    const [first] = waiting;
    if (first) timer ??= clock.after(Math.max(0, first.until - clock.now()), expire);
  }

  function unconfirmed(): AuditUnavailable {
    return new AuditUnavailable(
      'unconfirmed',
      isClosed ? 'the spool is closed' : `the control plane does not commit audit entries within ${waitMs} ms`,
    );
  }

  return {
    get isFull() {
      return waiting.length >= waitingMax;
    },
    wait(sequence) {
      if (sequence <= acknowledged) return Promise.resolve();
      if (isSilent || isClosed) return Promise.reject(unconfirmed());
      return new Promise((resolve, reject) => {
        waiting.push({ sequence, until: clock.now() + waitMs, resolve, reject });
        arm();
      });
    },
    acknowledge(sequence) {
      acknowledged = sequence;
      if (isSilent) log.info({}, 'the control plane commits audit entries again');
      isSilent = false;
      const next = waiting.findIndex((one) => one.sequence > sequence);
      for (const { resolve } of waiting.splice(0, next < 0 ? waiting.length : next)) resolve();
      if (waiting.length > 0) return;
      timer?.cancel();
      timer = undefined;
    },
    close() {
      isClosed = true;
      timer?.cancel();
      for (const { reject } of waiting.splice(0)) reject(unconfirmed());
    },
  };
}
