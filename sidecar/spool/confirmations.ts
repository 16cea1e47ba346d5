// Durability `remote`: callers whose entries are written here and not committed by the control plane yet. Each hears
// within `waitMs`: that its entry is committed, or that nobody knows. Used by `append` of one live spool.
//
// Answering: whoever comes waits. Silent: a wait has passed in vain and nothing was acknowledged since; whoever comes
// then is told so at once, for nobody should wait out a control plane that is known to be away. The entries are written
// and shipped all the same, and the first of them that is acknowledged ends the silence.
import type { Clock, Timer } from '../clock.ts';
import type { Log } from '../log.ts';
import { AuditUnavailable } from './unavailable.ts';

export interface Confirmations {
  /** As many wait as may. */
  readonly isFull: boolean;
  /** Sequences come ascending. Rejects with `AuditUnavailable` (`unconfirmed`). */
  wait(sequence: number): Promise<void>;
  acknowledge(sequence: number): void;
  /** Nobody will hear of an acknowledgement any more. */
  close(): void;
}

interface Waiting {
  readonly sequence: number;
  readonly until: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Callers who wait at one time. */
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
      log.warn({ waitMs }, 'the control plane does not commit entries');
    }
    for (const { reject } of late) reject(unconfirmed());
    arm();
  }

  // One for all: who came first is due first.
  function arm(): void {
    const [first] = waiting;
    if (first) timer ??= clock.after(Math.max(0, first.until - clock.now()), expire);
  }

  function unconfirmed(): AuditUnavailable {
    return new AuditUnavailable(
      'unconfirmed',
      isClosed ? 'the spool is closed' : `the control plane has not committed the entry within ${waitMs} ms`,
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
      if (isSilent) log.info({}, 'the control plane commits entries again');
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
