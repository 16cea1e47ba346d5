// What the property tests share: how a property is run, and both evaluators. `TOLLGATE_TEST_CASES` raises the number of
// cases. A failure prints its seed, and `TOLLGATE_TEST_SEED` repeats it.
import fc from 'fast-check';
import { it } from 'vitest';
import { caseCount } from '../support/case-count.ts';
import { type Place, placesOf, without } from './edit.ts';
import type { Scene } from './generate.ts';
import * as reference from './reference.ts';
import { looserThan } from './strictness.ts';
import * as subject from './subject.ts';
import type { Call, Outcome, World } from './world.ts';

export const cases = caseCount;
const seed = process.env['TOLLGATE_TEST_SEED'];
export const timeout = Math.max(300_000, cases * 20);

/** The parameters of a property that runs over `share` of all cases. */
export const runs = (share: number): { readonly numRuns: number; readonly seed?: number } => ({
  numRuns: Math.ceil(cases * share),
  ...(seed === undefined ? {} : { seed: Number(seed) }),
});

interface Properties {
  /** Defines a property that runs over `share` of all cases. */
  readonly property: <T>(name: string, share: number, arb: fc.Arbitrary<T>, holds: (value: T) => void) => void;
  /** The number of cases of all properties so far. */
  readonly planned: () => number;
}

export function createProperties(): Properties {
  let planned = 0;
  return {
    property: (name, share, arb, holds) => {
      planned += runs(share).numRuns;
      it(name, { timeout }, () => {
        fc.assert(fc.property(arb, holds), runs(share));
      });
    },
    planned: () => planned,
  };
}

/** Both evaluators, for the properties that must hold for each of them. Every call is decided alone. */
export const evaluators = [
  ['decide', subject.decideAlone],
  ['reference', (world: World, calls: readonly Call[]): Outcome[] => calls.flatMap((call) => reference.decideCalls(world, [call]))],
] as const;

/** Removes calls that differ from an earlier one only in time. */
export const distinct = (calls: readonly Call[]): readonly Call[] => [
  ...new Map(calls.map((call) => [JSON.stringify(without(call, 'at')), call])).values(),
];

/** Decides each call alone in both worlds. The first world must be at least as strict as the second. */
export function atLeastAsStrict(strict: World, loose: World, made: readonly Call[]): void {
  const calls = distinct(made);
  for (const [name, decide] of evaluators) {
    const before = decide(loose, calls);
    for (const [i, outcome] of decide(strict, calls).entries()) {
      const found = before[i];
      const problem = found === undefined ? null : looserThan(outcome, found);
      if (problem !== null) throw new Error(`${name}, call ${i}: ${problem}`);
    }
  }
}

export const pickFrom = <T>(list: readonly T[], at: number): T | undefined => list[at % Math.max(1, list.length)];

/** Picks one of the document places that affect one of the calls. `at` is the number to pick by. */
export const placeFor = ({ world, calls }: Scene, at: number): Place | undefined =>
  pickFrom(
    calls.flatMap((call) => placesOf(world, call).flat()),
    at,
  );

/** The classes of scenes that a generator must produce often enough. */
export interface Tally {
  /** Counts the classes that hold for one scene. */
  add(outcomes: readonly Outcome[], scene: Scene): void;
  readonly scenes: number;
  /** The classes that less than 5 % of the scenes belong to. */
  scarce(): readonly string[];
}

/** `classes`: whether an outcome belongs to each class. A scene does if one of its outcomes does. */
export function createTally(classes: Readonly<Record<string, (outcome: Outcome, call: Call, world: World) => boolean>>): Tally {
  const counts = new Map<string, number>();
  let scenes = 0;
  return {
    add: (outcomes, { world, calls }) => {
      scenes += 1;
      for (const [name, holds] of Object.entries(classes)) {
        const found = calls.some((call, i) => {
          const outcome = outcomes[i];
          return outcome !== undefined && holds(outcome, call, world);
        });
        if (found) counts.set(name, (counts.get(name) ?? 0) + 1);
      }
    },
    get scenes() {
      return scenes;
    },
    scarce: () => Object.keys(classes).filter((name) => (counts.get(name) ?? 0) < scenes * 0.05),
  };
}
