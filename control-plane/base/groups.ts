// Groups work that costs the same for one input or for many. While work of a key is running, new inputs of that key
// wait together and then run as one group. If no work of a key is running, an input starts without waiting for more
// inputs. Keys take turns, one group each.
//
// States of the queue of a key, which exists while inputs of the key wait: in turn (a group is running, new inputs can
// arrive) → waiting for a turn → in turn … → deleted. A group can fail for a reason that does not concern all of its
// inputs. Then it is split: each input runs alone, in the same order and before later inputs. One wrong input then does
// not make other inputs fail.
import { inTurns } from './turns.ts';

export interface GroupRules<A, R> {
  readonly keyOf: (input: A) => unknown;
  /** Maximum number of groups at the same time, over all keys. */
  readonly atOnce: number;
  /**
   * Returns a function that is called for one input after the other. It returns whether the input still fits into the
   * group. The first input is always included, whatever the function returns.
   */
  readonly openGroup: () => (input: A) => boolean;
  /** Processes all inputs or none. Returns one result for each input, in the same order. */
  readonly run: (inputs: readonly A[]) => Promise<readonly R[]>;
  /** Returns whether each input would also fail alone for this reason. */
  readonly failsAll: (reason: unknown) => boolean;
}

interface WaitingItem<A, R> {
  readonly input: A;
  readonly isAlone: boolean;
  readonly settle: (result: R) => void;
  readonly fail: (reason: unknown) => void;
}

export function inGroups<A, R>({ keyOf, atOnce, openGroup, run, failsAll }: GroupRules<A, R>): (input: A) => Promise<R> {
  const lanes = new Map<unknown, WaitingItem<A, R>[]>();

  const work = inTurns(atOnce, async (lane: WaitingItem<A, R>[]): Promise<void> => {
    const group = takeGroup(lane, openGroup());
    try {
      const results = await run(group.map(({ input }) => input));
      if (results.length !== group.length)
        throw new Error(
          `the function "run" must return one result for each of the ${group.length} inputs of a group, but it returned ${results.length} results`,
        );
      for (const [at, result] of results.entries()) group[at]?.settle(result);
    } catch (error) {
      if (group.length > 1 && !failsAll(error)) lane.unshift(...group.map((one) => ({ ...one, isAlone: true })));
      else for (const { fail } of group) fail(error);
    }
  });
  const serve = async (key: unknown, lane: WaitingItem<A, R>[]): Promise<void> => {
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

function takeGroup<A, R>(lane: WaitingItem<A, R>[], fits: (input: A) => boolean): readonly WaitingItem<A, R>[] {
  if (lane[0]?.isAlone === true) return lane.splice(0, 1);
  const end = lane.findIndex(({ input }, at) => !fits(input) && at > 0);
  return lane.splice(0, end < 0 ? lane.length : end);
}
