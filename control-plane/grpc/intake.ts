// Limits what the audit streams of a process hold between arrival and commit. A slow database therefore costs a bounded
// amount of memory, however many sidecars there are. All streams share a fixed number of records, and the credit of a
// stream is its share. The number of streams of a workspace and of a key is limited. All waiting batches have a common
// memory budget in bytes. When memory is reserved for a batch, the key of the batch must not hold more bytes than then
// remain free for all others.
import { bounds, FairMemory } from '@tollgate/proto/contract';
import type { Actor } from '../access/rules/actor.ts';
import { createStreamSeats, type SeatBounds, seatBounds } from './stream-seats.ts';

/** The place of one stream. */
export interface IntakePlace {
  /** Reserves memory for a batch that waits for its commit. False: the budget for this key is used up. */
  take(bytes: number): boolean;
  /** Returns memory of a batch that no longer waits. Can also be called after `leave`. */
  give(bytes: number): void;
  leave(): void;
}

export interface Intake {
  /**
   * Returns a place for a stream. If there is no free place, returns whether the key or the workspace has used up its
   * places.
   */
  open(actor: Pick<Actor, 'workspaceId' | 'keyId'>): IntakePlace | { readonly taken: 'key' | 'workspace' };
  /** How many unacknowledged records a stream can have now. */
  readonly credit: number;
}

interface IntakeBounds extends SeatBounds {
  /**
   * The maximum number of unacknowledged records of all streams together. It can be exceeded, because each stream gets
   * at least `streamRecordsMin`.
   */
  readonly records: number;
  readonly streamRecordsMin: number;
  /** Bytes of waiting batches on all streams. */
  readonly bytes: number;
}

const standard: IntakeBounds = { ...seatBounds, records: 64_000, streamRecordsMin: 64, bytes: 256 * 1_048_576 };

export function createIntake({ records, streamRecordsMin, bytes: memoryBytes, ...ofSeats }: IntakeBounds = standard): Intake {
  const seats = createStreamSeats(ofSeats);
  const memory = new FairMemory<string>(memoryBytes);
  let streams = 0;
  return {
    open: (actor) => {
      const seat = seats.take(actor);
      if ('taken' in seat) return seat;
      streams += 1;
      let left = false;
      return {
        take: (bytes) => memory.take(actor.keyId, bytes),
        give: (bytes) => memory.give(actor.keyId, bytes),
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
