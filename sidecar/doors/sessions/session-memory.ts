// Memory limits for the sessions of a process, shared by all workspaces and keys, and the periodic cleanup.
import { FairMemory } from '@tollgate/proto/contract';
import { Budget } from '../entrance/budget.ts';
import { createNumberFloors } from './number-floors.ts';

export interface MemoryBytes {
  readonly sessions: number;
  /** Delegated tools have a separate limit. */
  readonly narrowings: number;
}

export const cleanupMs = 1_000;

/** Removes old data. False: nothing is left, and the function need not be called again. */
type SessionCleanup = (now: number) => boolean;

export class SessionMemory {
  readonly budget: Budget;
  readonly narrowings: FairMemory<object>;
  readonly floors = createNumberFloors();
  readonly #cleanups = new Set<SessionCleanup>();
  #cleanedAt = Number.NEGATIVE_INFINITY;

  constructor(bytes: MemoryBytes) {
    this.budget = new Budget(bytes.sessions);
    this.narrowings = new FairMemory(bytes.narrowings);
  }

  /** Registers a cleanup function until it returns that nothing is left. */
  addCleanup(cleanup: SessionCleanup): void {
    this.#cleanups.add(cleanup);
  }

  cleanUp(now: number): void {
    if (now - this.#cleanedAt < cleanupMs) return;
    this.#cleanedAt = now;
    for (const cleanup of this.#cleanups) if (!cleanup(now)) this.#cleanups.delete(cleanup);
  }
}
