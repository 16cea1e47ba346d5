// Memory limits for the sessions of a process, shared by all workspaces and keys, and the periodic cleanup.
import { FairRoom } from '@tollgate/proto/contract';
import { Budget } from '../entrance/budget.ts';
import { createNumberFloors } from './number-floors.ts';

export interface RoomBytes {
  readonly sessions: number;
  /** Delegated tools have a separate limit. */
  readonly narrowings: number;
}

export const tendMs = 1_000;

/** Removes old data. False: nothing is left, and the function need not be called again. */
type Tend = (now: number) => boolean;

export class SessionRoom {
  readonly budget: Budget;
  readonly narrowings: FairRoom<object>;
  readonly floors = createNumberFloors();
  readonly #tending = new Set<Tend>();
  #tendedAt = Number.NEGATIVE_INFINITY;

  constructor(bytes: RoomBytes) {
    this.budget = new Budget(bytes.sessions);
    this.narrowings = new FairRoom(bytes.narrowings);
  }

  /** Registers a cleanup function until it returns that nothing is left. */
  lookAfter(tend: Tend): void {
    this.#tending.add(tend);
  }

  tend(now: number): void {
    if (now - this.#tendedAt < tendMs) return;
    this.#tendedAt = now;
    for (const tend of this.#tending) if (!tend(now)) this.#tending.delete(tend);
  }
}
