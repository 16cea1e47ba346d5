// What the sessions of a process may keep, of all workspaces and keys together, and who looks after what is to be forgotten.
import { FairRoom } from '@tollgate/proto/contract';
import { Budget } from '../budget.ts';
import { createNumberFloors } from './number-floors.ts';

export interface RoomBytes {
  readonly sessions: number;
  /** What agents were handed down with is counted apart. */
  readonly narrowings: number;
}

export const tendMs = 1_000;

/** Forgets what is old. False: nothing is left, and it need not be asked again. */
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

  /** Until it says that nothing is left. */
  lookAfter(tend: Tend): void {
    this.#tending.add(tend);
  }

  tend(now: number): void {
    if (now - this.#tendedAt < tendMs) return;
    this.#tendedAt = now;
    for (const tend of this.#tending) if (!tend(now)) this.#tending.delete(tend);
  }
}
