// Selects which records are sent next on one stream. It respects the server's credit, serves the backlogs in turns, and
// lets small batches wait for more records. If callers wait for acknowledgements, the records of a backlog wait only
// until the batch before them is acknowledged. Thus a single entry is sent at once, and entries that arrive during a
// commit are sent together after it, however long the commit takes. Part of the shipment.
import { bounds } from '@tollgate/proto/contract';
import type { Backlog } from '../spool/backlog.ts';

/** A backlog on this stream. */
export interface Lane {
  readonly backlog: Backlog;
  /** The last sequence sent. */
  sent: number;
  /** True: the records that are not sent yet have waited long enough. */
  isDue: boolean;
  /** True: the backlog cannot be read at present. The other backlogs are still sent. */
  isStuck: boolean;
}

export interface Lanes {
  /** The maximum number of records that are sent and not acknowledged. */
  credit: number;
  /** The number of records that were sent on this stream and are not acknowledged. */
  readonly inFlight: number;
  /** Returns which records to send now, or undefined. The caller must send them before the next call. */
  next(): { readonly lane: Lane; readonly recordsMax: number } | undefined;
  /** Marks the records that exist now as due: they do not wait for more records. */
  setDue(): void;
  /** True: there are unsent records whose sending only a timer can trigger. */
  readonly isWaiting: boolean;
  find(spoolId: string): Lane | undefined;
  add(backlog: Backlog): void;
  readonly remove: (backlog: Backlog) => void;
}

/** A batch smaller than this waits for more records. */
const batchRecordsMin = 128;

export function createLanes(backlogs: readonly Backlog[], { isAwaited }: { isAwaited: boolean }): Lanes {
  let lanes = backlogs.map(laneOf);

  return {
    credit: 0,
    get inFlight() {
      return lanes.reduce((sum, { sent, backlog }) => sum + sent - backlog.acknowledged, 0);
    },
    next() {
      const { inFlight } = this;
      for (const lane of lanes) {
        if (lane.isStuck) continue;
        const unsent = unsentOf(lane);
        const recordsMax = Math.min(unsent, this.credit - inFlight, bounds.auditBatchRecords);
        const isDue = lane.isDue || (isAwaited && lane.sent <= lane.backlog.acknowledged);
        const isRemainder = isDue && recordsMax === unsent;
        if (recordsMax <= 0 || (recordsMax < Math.min(batchRecordsMin, this.credit) && !isRemainder)) continue;
        if (isRemainder) lane.isDue = false;
        lanes = [...lanes.filter((other) => other !== lane), lane];
        return { lane, recordsMax };
      }
      return undefined;
    },
    setDue() {
      for (const lane of lanes) lane.isDue = unsentOf(lane) > 0;
    },
    get isWaiting() {
      // Records that are due but not sent wait for credit. An acknowledgement triggers their sending, so they need no
      // timer.
      return lanes.some((lane) => unsentOf(lane) > 0 && !lane.isDue && !lane.isStuck);
    },
    find: (spoolId) => lanes.find(({ backlog }) => backlog.id === spoolId),
    add(backlog) {
      lanes = [...lanes, laneOf(backlog)];
    },
    remove(backlog) {
      lanes = lanes.filter((lane) => lane.backlog !== backlog);
    },
  };
}

// The existing records have waited long enough already.
function laneOf(backlog: Backlog): Lane {
  return { backlog, sent: backlog.acknowledged, isDue: true, isStuck: false };
}

function unsentOf({ backlog, sent }: Lane): number {
  return backlog.last - sent;
}
