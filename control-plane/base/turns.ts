// Limits how many calls run at the same time. `inTurns` and `inTurnsByKey` let a few calls run while the others wait,
// in order of arrival. `createSeats` never makes a caller wait: it refuses.

/** How many calls may wait, and the error for the next one. Without a queue, any number may wait. */
interface Queue {
  readonly waitingMax: number;
  readonly full: () => Error;
}

/** Wraps `run`: at most `max` calls run at the same time. */
export function inTurns<A extends readonly unknown[], R>(
  max: number,
  run: (...args: A) => Promise<R>,
  queue: Queue | null = null,
): (...args: A) => Promise<R> {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (...args) => {
    if (running < max) running += 1;
    else if (queue !== null && waiting.length >= queue.waitingMax) throw queue.full();
    else await new Promise<void>((go) => waiting.push(go));
    try {
      return await run(...args);
    } finally {
      const next = waiting.shift();
      // The turn passes directly to the next call in the queue. A new call cannot take it.
      if (next === undefined) running -= 1;
      else next();
    }
  };
}

/** Wraps `run`: for each key, one call runs at a time. A key is deleted when no call uses it. */
export function inTurnsByKey<A, R>(keyOf: (input: A) => unknown, run: (input: A) => Promise<R>): (input: A) => Promise<R> {
  const lanes = new Map<unknown, { readonly enter: (input: A) => Promise<R>; users: number }>();
  return async (input) => {
    const key = keyOf(input);
    const lane = lanes.get(key) ?? { enter: inTurns(1, run), users: 0 };
    lanes.set(key, lane);
    lane.users += 1;
    try {
      return await lane.enter(input);
    } finally {
      lane.users -= 1;
      if (lane.users === 0) lanes.delete(key);
    }
  };
}

/** A limited number of seats for each key and in total. */
export interface Seats<K> {
  /**
   * Returns a function that frees the seat. If there is no free seat, returns whether the key or all keys together have
   * used up the seats.
   */
  take(key: K): { readonly leave: () => void } | { readonly taken: 'by the key' | 'by all' };
}

export function createSeats<K>({ each, all = Number.POSITIVE_INFINITY }: { readonly each: number; readonly all?: number }): Seats<K> {
  const seated = new Map<K, number>();
  let total = 0;
  return {
    take: (key) => {
      const before = seated.get(key) ?? 0;
      if (before >= each) return { taken: 'by the key' };
      if (total >= all) return { taken: 'by all' };
      seated.set(key, before + 1);
      total += 1;
      let left = false;
      const leave = (): void => {
        if (left) return;
        left = true;
        total -= 1;
        const others = (seated.get(key) ?? 1) - 1;
        if (others === 0) seated.delete(key);
        else seated.set(key, others);
      };
      return { leave };
    },
  };
}
