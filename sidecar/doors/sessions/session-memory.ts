// Manages the memory limits and the periodic cleanup for the sessions of a process. All workspaces and keys share them.
import { FairMemory } from '@tollgate/proto/contract';
import { Budget } from '../entrance/budget.ts';
import { createNumberFloors } from './number-floors.ts';

export interface MemoryBytes {
  readonly sessions: number;
  /** The limit for delegated tools, which is separate. */
  readonly narrowings: number;
  /** The limit for costs, which is separate too. */
  readonly costs: number;
}

export const cleanupMs = 1_000;

/** Removes old data. False: nothing is left, and the function need not be called again. */
type SessionCleanup = (now: number) => boolean;

export class SessionMemory {
  readonly budget: Budget;
  readonly narrowings: FairMemory<object>;
  readonly costs: FairMemory<object>;
  readonly floors = createNumberFloors();
  readonly #cleanups = new Set<SessionCleanup>();
  #cleanedAt = Number.NEGATIVE_INFINITY;

  constructor(bytes: MemoryBytes) {
    this.budget = new Budget(bytes.sessions);
    this.narrowings = new FairMemory(bytes.narrowings);
    this.costs = new FairMemory(bytes.costs);
  }

  /** Registers a cleanup function. It is called until it returns false. */
  addCleanup(cleanup: SessionCleanup): void {
    this.#cleanups.add(cleanup);
  }

  cleanUp(now: number): void {
    if (now - this.#cleanedAt < cleanupMs) return;
    this.#cleanedAt = now;
    for (const cleanup of this.#cleanups) if (!cleanup(now)) this.#cleanups.delete(cleanup);
  }
}
