// Lets the writes of one workspace run one after the other in this process. Every write locks the row of its workspace
// (`raiseRevision`), so two of them can never overlap. A write waits here, before it takes a connection. If it waited
// for the lock instead, a burst of writes would hold every connection of the pool, and requests of all workspaces would
// fail by a timeout.
//
// A workspace has a lane while one of its writes runs. The others wait in the lane and begin in order of arrival. If the
// running write fails because the database does not answer or the row stays locked, the waiting writes fail at the same
// time. So no request waits longer than the timeouts of one request while the database serves no one.
import { AppError } from '@tollgate/proto/contract';
import type pg from 'pg';
import { isBlocked } from '../base/unavailable.ts';

/** The maximum number of writes that wait in a lane. */
const waitingMax = 200;

interface WaitingWrite {
  readonly begin: () => void;
  readonly fail: (reason: unknown) => void;
}

class WriteTurns {
  readonly #lanes = new Map<number, WaitingWrite[]>();

  async run<T>(workspaceId: number, write: () => Promise<T>): Promise<T> {
    await this.#enter(workspaceId);
    try {
      return await write();
    } catch (reason) {
      if (isBlocked(reason)) for (const { fail } of this.#lanes.get(workspaceId)?.splice(0) ?? []) fail(reason);
      throw reason;
    } finally {
      this.#leave(workspaceId);
    }
  }

  /** Resolves when it is the turn of this write. */
  #enter(workspaceId: number): Promise<void> | void {
    const waiting = this.#lanes.get(workspaceId);
    if (waiting === undefined) return void this.#lanes.set(workspaceId, []);
    if (waiting.length >= waitingMax) throw tooMany();
    return new Promise((begin, fail) => waiting.push({ begin, fail }));
  }

  /** Passes the turn directly to the next write of the lane. A new write cannot take it. */
  #leave(workspaceId: number): void {
    const next = this.#lanes.get(workspaceId)?.shift();
    if (next === undefined) this.#lanes.delete(workspaceId);
    else next.begin();
  }
}

const turnsOf = new WeakMap<pg.Pool, WriteTurns>();

/** Runs `write` as soon as all earlier writes of this workspace in this process have ended. */
export function inWriteTurn<T>(pool: pg.Pool, workspaceId: number, write: () => Promise<T>): Promise<T> {
  const turns = turnsOf.get(pool) ?? new WriteTurns();
  turnsOf.set(pool, turns);
  return turns.run(workspaceId, write);
}

const tooMany = (): AppError =>
  new AppError({
    code: 'unavailable',
    publicMessage: `${waitingMax} writes of this workspace already wait for their turn, which is the maximum; try again`,
    retryAfterSeconds: 1,
  });
