// Opens the spool of this process. If the disk has no space for it, the spools of dead processes on that disk are
// shipped first: that frees space, and no other process would ship them. The start of a sidecar uses this.
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Backlog } from '../spool/backlog.ts';
import { isErrno } from '../spool/hold.ts';
import type { Shipper } from './shipper.ts';

export interface ShipWhenFullDeps<Spool> {
  readonly open: () => Promise<Spool>;
  /** Starts a shipper for `own` and for the spools of dead processes. */
  readonly ship: (own: Backlog) => Pick<Shipper, 'close'>;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly log: Log;
}

const tryEveryMs = 250;

/**
 * Returns the result of `open`, or rejects with its error. If the disk has no space, it tries again for `waitMs` before
 * it rejects.
 */
export async function openWhenFull<Spool>({ open, ship, clock, log }: ShipWhenFullDeps<Spool>, waitMs: number): Promise<Spool> {
  const until = clock.now() + waitMs;
  let shipper: Pick<Shipper, 'close'> | undefined;
  try {
    for (;;) {
      try {
        return await open();
      } catch (error) {
        if (!isErrno(error, 'ENOSPC') && !isErrno(error, 'EDQUOT')) throw error;
        if (clock.now() >= until) throw error;
        if (shipper === undefined)
          log.warn({ error: String(error), waitMs }, 'the disk has no space for a new spool: the existing spools are shipped first');
        shipper ??= ship(nothing);
        await new Promise<void>((tryAgain) => void clock.after(tryEveryMs, tryAgain));
      }
    }
  } finally {
    await shipper?.close({ deadlineMs: 0 });
  }
}

/** A placeholder for the spool that does not exist yet. */
const nothing: Backlog = {
  id: '',
  owned: { secret: Buffer.alloc(0), workspaceId: '' },
  settled: null,
  last: 0,
  acknowledged: 0,
  sent: 0,
  status: () => ({ records: 0, bytes: 0, oldestAt: undefined, lost: 0 }),
  readBatch: async () => [],
  noteSent: () => {},
  acknowledge: () => {},
  onBehind: () => {},
  close: async () => {},
};
