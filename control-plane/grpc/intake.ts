// What the audit streams of a process hold between arrival and commit, all together, so that a slow database costs a
// bounded amount of memory however many sidecars there are: the credit of each is its share, so many streams a workspace
// and a key may have, and what waits on all of them has room in bytes, of which one key leaves as much to all others as it takes.
import { bounds, FairRoom } from '@tollgate/proto/contract';
import type { Actor } from '../domain/access/actor.ts';
import { createStreamSeats, type SeatBounds, seatBounds } from './stream-seats.ts';

/** The place of one stream. */
interface IntakePlace {
  /** Room for what waits to be committed. False: there is none left for this key. */
  take(bytes: number): boolean;
  /** What was taken and waits no longer; also after `leave`. */
  give(bytes: number): void;
  leave(): void;
}

export interface Intake {
  /** A place for a stream; or whose places are all taken. */
  open(actor: Pick<Actor, 'workspaceId' | 'keyId'>): IntakePlace | { readonly taken: 'key' | 'workspace' };
  /** How many records a stream may now have unacknowledged. */
  readonly credit: number;
}

interface IntakeBounds extends SeatBounds {
  /** Records of all streams together, as long as each has its least. */
  readonly records: number;
  readonly streamRecordsMin: number;
  /** Of what waits on all streams. */
  readonly bytes: number;
}

const standard: IntakeBounds = { ...seatBounds, records: 64_000, streamRecordsMin: 64, bytes: 256 * 1_048_576 };

export function createIntake({ records, streamRecordsMin, bytes: roomBytes, ...ofSeats }: IntakeBounds = standard): Intake {
  const seats = createStreamSeats(ofSeats);
  const room = new FairRoom<string>(roomBytes);
  let streams = 0;
  return {
    open: (actor) => {
      const seat = seats.take(actor);
      if ('taken' in seat) return seat;
      streams += 1;
      let left = false;
      return {
        take: (bytes) => room.take(actor.keyId, bytes),
        give: (bytes) => room.give(actor.keyId, bytes),
        leave: () => {
          if (left) return;
          left = true;
          streams -= 1;
          seat.leave();
        },
      };
    },
    get credit() {
      return Math.min(bounds.auditCreditRecords, Math.max(streamRecordsMin, Math.floor(records / Math.max(1, streams))));
    },
  };
}
