// Which records go out next on one stream: keeps the server's credit, lets the backlogs take turns and lets small
// batches wait for company. Where somebody waits for an acknowledgement, what is there waits only for that of the batch
// before: so a lone entry goes at once, and many together, however slow a commit is. Part of the shipment.
import { bounds } from '@tollgate/proto/contract';
import type { Backlog } from '../spool/backlog.ts';

/** A backlog on this stream. */
export interface Lane {
  readonly backlog: Backlog;
  /** The last sequence sent. */
  sent: number;
  /** What is unsent now has waited long enough. */
  isDue: boolean;
  /** It cannot be read just now: the others go on. */
  isStuck: boolean;
}

export interface Lanes {
  /** How many records may be sent and unacknowledged. */
  credit: number;
  /** Sent on this stream and not acknowledged. */
  readonly inFlight: number;
  /** What to send now, if anything; the next answer assumes that it was. */
  next(): { readonly lane: Lane; readonly recordsMax: number } | undefined;
  /** Whatever is there now need not wait for more. */
  setDue(): void;
  /** Something is left that nothing will come back to but time. */
  readonly isWaiting: boolean;
  find(spoolId: string): Lane | undefined;
  add(backlog: Backlog): void;
  readonly remove: (backlog: Backlog) => void;
}

/** Below this a batch waits for company. */
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
      // What is due and still here waits for credit: an acknowledgement comes back to it.
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

// What is there from before has waited already.
function laneOf(backlog: Backlog): Lane {
  return { backlog, sent: backlog.acknowledged, isDue: true, isStuck: false };
}

function unsentOf({ backlog, sent }: Lane): number {
  return backlog.last - sent;
}
