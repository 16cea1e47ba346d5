// Who may go on at once: `inTurns` and `inTurnsByKey` let a few through while the others wait, first come first served;
// `createSeats` lets nobody wait.

/** How many may wait, and what the next one is told; without, all may. */
interface Queue {
  readonly waitingMax: number;
  readonly full: () => Error;
}

/** `run` as it is, but never more than `max` of it at the same time. */
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
      // A turn is handed on, so that nobody comes in between.
      if (next === undefined) running -= 1;
      else next();
    }
  };
}

/** `run` as it is, but for each key one at a time. Forgets a key when nobody waits for it. */
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

/** Places to sit, so many for each key and so many in all. */
export interface Seats<K> {
  /** How to leave it, or who has taken all that there are. */
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
