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

/** `caller`: whatever tells one from another. Runs `begin` now, or in its turn. */
export function createTurns({ clock, nextTurn = setImmediate, perTurn = 1 }: TurnsDeps): (caller: string, begin: Begin) => void {
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

  return (caller, begin) => {
    const now = clock.now();
    if (latest !== null && caller !== latest) sharedUntil = now + sharedMs;
    latest = caller;
    const line = lines.get(caller);
    if (line !== undefined) return void line.push(begin);
    if (now >= sharedUntil) return begin();
    const count = begun.get(caller) ?? 0;
    if (count >= perTurn) lines.set(caller, [begin]);
    else {
      begun.set(caller, count + 1);
      begin();
    }
    turnSoon();
  };
}
