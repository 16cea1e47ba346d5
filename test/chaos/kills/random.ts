// Random numbers that a seed repeats, so that a run can be reproduced from one number.
import { randomFrom } from '../../support/random.ts';

export interface Random {
  /** From 0 to below 1. */
  next(): number;
  between(least: number, below: number): number;
  whole(least: number, most: number): number;
  pick<T>(of: readonly [T, ...(readonly T[])]): T;
  /** Another generator, which does not depend on how often this one was used. */
  fork(name: string): Random;
}

export function createRandom(seed: number): Random {
  const next = randomFrom(seed);
  const between = (least: number, below: number): number => least + next() * (below - least);
  return {
    next,
    between,
    whole: (least, most) => Math.floor(between(least, most + 1)),
    pick: (of) => of[Math.floor(next() * of.length)] ?? of[0],
    fork: (name) =>
      createRandom(Array.from(name).reduce((sum, letter) => Math.imul(sum ^ letter.charCodeAt(0), 0x01000193), seed ^ 0x811c9dc5)),
  };
}
