// Work that costs the same for one or for many: what comes for a key while work of that key is under way waits together
// and is done as one group, so nobody waits where nothing is under way. Keys take turns, a group each.
//
// States of a lane, which a key has while somebody waits: in turn (a group is being done, others may come) → waiting for
// a turn → in turn … → gone. A group that fails for a reason of its own is taken apart: each goes on alone, in the same order
// and before whoever came later, so that one that is wrong fails nobody else.
import { inTurns } from './turns.ts';

export interface Grouping<A, R> {
  readonly keyOf: (input: A) => unknown;
  /** Groups, over all keys. */
  readonly atOnce: number;
  /** What it returns is asked of one after the other: does this one still fit? The first comes along whatever it says. */
  readonly openGroup: () => (input: A) => boolean;
  /** All or none of them; an answer for each, in their order. */
  readonly run: (inputs: readonly A[]) => Promise<readonly R[]>;
  /** A reason for which each of them would fail alone, too. */
  readonly failsAll: (reason: unknown) => boolean;
}

interface Waiting<A, R> {
  readonly input: A;
  readonly isAlone: boolean;
  readonly settle: (result: R) => void;
  readonly fail: (reason: unknown) => void;
}

export function inGroups<A, R>({ keyOf, atOnce, openGroup, run, failsAll }: Grouping<A, R>): (input: A) => Promise<R> {
  const lanes = new Map<unknown, Waiting<A, R>[]>();

  const work = inTurns(atOnce, async (lane: Waiting<A, R>[]): Promise<void> => {
    const group = takeGroup(lane, openGroup());
    try {
      const results = await run(group.map(({ input }) => input));
      if (results.length !== group.length) throw new Error(`${group.length} were to be answered, ${results.length} were`);
      for (const [at, result] of results.entries()) group[at]?.settle(result);
    } catch (error) {
      if (group.length > 1 && !failsAll(error)) lane.unshift(...group.map((one) => ({ ...one, isAlone: true })));
      else for (const { fail } of group) fail(error);
    }
  });
  const serve = async (key: unknown, lane: Waiting<A, R>[]): Promise<void> => {
    while (lane.length > 0) await work(lane);
    lanes.delete(key);
  };

  return (input) =>
    new Promise((settle, fail) => {
      const waiting = { input, isAlone: false, settle, fail };
      const key = keyOf(input);
      const lane = lanes.get(key);
      if (lane !== undefined) return void lane.push(waiting);
      const fresh = [waiting];
      lanes.set(key, fresh);
      void serve(key, fresh);
    });
}

function takeGroup<A, R>(lane: Waiting<A, R>[], fits: (input: A) => boolean): readonly Waiting<A, R>[] {
  if (lane[0]?.isAlone === true) return lane.splice(0, 1);
  const end = lane.findIndex(({ input }, at) => !fits(input) && at > 0);
  return lane.splice(0, end < 0 ? lane.length : end);
}
