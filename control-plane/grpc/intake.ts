// What the audit streams of a process hold between arrival and commit, all together, so that a slow database costs a
// bounded amount of memory however many sidecars there are: the credit of each is its share, and so many streams a
// workspace may have.
import { bounds } from '@tollgate/proto/contract';
import { createSeats } from '../operations/turns.ts';

export interface Intake {
  /** A place for a stream of the workspace; null: there are too many. */
  open(workspaceId: number): { readonly leave: () => void } | null;
  /** How many records a stream may now have unacknowledged. */
  readonly credit: number;
}

interface IntakeBounds {
  /** Records of all streams together, as long as each has its least. */
  readonly records: number;
  readonly streamRecordsMin: number;
  readonly streamsOfWorkspace: number;
}

const standard: IntakeBounds = { records: 64_000, streamRecordsMin: 64, streamsOfWorkspace: 10_000 };

export function createIntake({ records, streamRecordsMin, streamsOfWorkspace }: IntakeBounds = standard): Intake {
  const seats = createSeats<number>({ each: streamsOfWorkspace });
  let streams = 0;
  return {
    open: (workspaceId) => {
      const seat = seats.take(workspaceId);
      if ('taken' in seat) return null;
      streams += 1;
      let left = false;
      const leave = (): void => {
        if (left) return;
        left = true;
        streams -= 1;
        seat.leave();
      };
      return { leave };
    },
    get credit() {
      return Math.min(bounds.auditCreditRecords, Math.max(streamRecordsMin, Math.floor(records / Math.max(1, streams))));
    },
  };
}
