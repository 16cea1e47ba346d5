// Requests of one caller that arrive together wait for each other, and other callers do not wait for them: where several ask, each has at most
// `perTurn` requests begun in a turn of the event loop, and the rest in the turns that follow, in their order.
//
// States: alone (one caller in the last second: nothing waits) → shared, until there was one caller for a second. A line is there
// while requests of its caller wait; what waits has not been read yet but for its head. Used by share-fairly.ts, which lets one request
// of a connection wait at a time.
import type { Clock } from '../clock.ts';

type Begin = () => void;

const sharedMs = 1_000;

export interface TurnsDeps {
  readonly clock: Pick<Clock, 'now'>;
  /** Runs it in the next turn of the event loop. */
  readonly nextTurn?: (run: () => void) => void;
  readonly perTurn?: number;
}

/** `caller`: whatever tells one from another. */
export interface Turns {
  /** True: its request begins now. False: it is to wait. */
  mayBegin(caller: string): boolean;
  /** Runs `begin` in its turn. */
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
    // What comes from now on counts to this turn as well, until the next one begins.
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
