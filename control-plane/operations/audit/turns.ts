// Lets a few through at once; the others wait their turn, first come first served.

/** `run` as it is, but never more than `max` of it at the same time. */
export function inTurns<A extends readonly unknown[], R>(max: number, run: (...args: A) => Promise<R>): (...args: A) => Promise<R> {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (...args) => {
    if (running < max) running += 1;
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

/** `run` as it is, but for each key only one at a time. Forgets a key when nobody waits for it. */
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
