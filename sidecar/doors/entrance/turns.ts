// Schedules requests fairly among callers. When several callers send requests, each caller starts at most `perTurn`
// requests in one turn of the event loop. Its other requests wait in a queue and start in the following turns, in
// order.
//
// States: alone (one caller in the last second, nothing waits) → shared → alone, after one second with a single caller.
// A caller has a queue while its requests wait. Only the headers of a waiting request have been read. share-fairly.ts
// uses this module and lets one request of a connection wait at a time.
import type { Clock } from '../../base/clock.ts';

type Begin = () => void;

const sharedMs = 1_000;

export interface TurnsDeps {
  readonly clock: Pick<Clock, 'now'>;
  /** Runs the function in the next turn of the event loop. Absent: `setImmediate`. */
  readonly nextTurn?: (run: () => void) => void;
  readonly perTurn?: number;
}

/** Decides when requests begin. `caller`: any text that distinguishes callers. */
export interface Turns {
  /** Returns true if the request begins now. False: it must wait. */
  mayBegin(caller: string): boolean;
  /** Runs `begin` when it is the turn of this request. */
  wait(caller: string, begin: Begin): void;
}

export function createTurns({ clock, nextTurn = setImmediate, perTurn = 1 }: TurnsDeps): Turns {
  const begun = new Map<string, number>();
  const lines = new Map<string, Begin[]>();
  let latest: string | null = null;
  let sharedUntil = Number.NEGATIVE_INFINITY;
  let isTurning = false;

  const turnSoon = (): void => {
    if (isTurning) return;
    isTurning = true;
    nextTurn(turn);
  };

  const turn = (): void => {
    isTurning = false;
    begun.clear();
    for (const [caller, line] of lines) {
      const now = line.splice(0, perTurn);
      if (line.length === 0) lines.delete(caller);
      begun.set(caller, now.length);
      for (const begin of now) begin();
    }
    // Requests that arrive from now on count for this turn too, until the next turn begins.
    if (begun.size > 0) turnSoon();
  };

  return {
    mayBegin: (caller) => {
      const now = clock.now();
      if (latest !== null && caller !== latest) sharedUntil = now + sharedMs;
      latest = caller;
      if (lines.has(caller)) return false;
      if (now >= sharedUntil) return true;
      const count = begun.get(caller) ?? 0;
      if (count >= perTurn) return false;
      begun.set(caller, count + 1);
      turnSoon();
      return true;
    },
    wait: (caller, begin) => {
      const line = lines.get(caller);
      if (line === undefined) lines.set(caller, [begin]);
      else line.push(begin);
      turnSoon();
    },
  };
}
