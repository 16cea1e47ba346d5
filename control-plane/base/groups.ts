// Groups work that costs the same for one input or for many. While work of a key is running, new inputs of that key
// wait together and then run as one group. If no work of a key is running, an input waits only for a short time, and
// only if all inputs of its key can wait. Keys take turns, one group each.
//
// States of the queue of a key, which exists while inputs of the key wait: gathering (all inputs can wait for more
// inputs) → waiting for a turn → in turn (a group is running, new inputs can arrive) → gathering … → deleted. A group can fail for a reason that does not concern all of its
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
  /** Absent: no input waits for more inputs. */
  readonly gather?: Gathering<A>;
  /** Processes all inputs or none. Returns one result for each input, in the same order. */
  readonly run: (inputs: readonly A[]) => Promise<readonly R[]>;
  /** Returns whether each input would also fail alone for this reason. */
  readonly failsAll: (reason: unknown) => boolean;
}

interface Gathering<A> {
  /** How long an input waits for more inputs, from its arrival. */
  readonly ms: number;
  /** Returns whether these inputs of one key can wait for more inputs. It is called again at each arrival. */
  readonly canWait: (inputs: readonly A[]) => boolean;
}

/** The queue of one key. */
interface Lane<A, R> {
  readonly items: WaitingItem<A, R>[];
  /** Called when an input has arrived. */
  onArrival: () => void;
}

interface WaitingItem<A, R> {
  readonly input: A;
  readonly isAlone: boolean;
  /** When the input arrived, in ms of a monotonic clock. */
  readonly arrivedAt: number;
  readonly settle: (result: R) => void;
  readonly fail: (reason: unknown) => void;
}

export function inGroups<A, R>(rules: GroupRules<A, R>): (input: A) => Promise<R> {
  const { keyOf, atOnce, openGroup, gather, run, failsAll } = rules;
  const lanes = new Map<unknown, Lane<A, R>>();

  const work = inTurns(atOnce, async ({ items: lane }: Lane<A, R>): Promise<void> => {
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
  const serve = async (key: unknown, lane: Lane<A, R>): Promise<void> => {
    while (lane.items.length > 0) {
      const gathering = gather === undefined ? undefined : gatherMore(lane, gather);
      // Without a wait, the input that is alone starts in the same turn of the event loop.
      if (gathering !== undefined) await gathering;
      await work(lane);
    }
    lanes.delete(key);
  };

  return (input) =>
    new Promise((settle, fail) => {
      const waiting = { input, isAlone: false, arrivedAt: performance.now(), settle, fail };
      const key = keyOf(input);
      const lane = lanes.get(key);
      if (lane !== undefined) {
        lane.items.push(waiting);
        return lane.onArrival();
      }
      const fresh = { items: [waiting], onArrival: nothing };
      lanes.set(key, fresh);
      void serve(key, fresh);
    });
}

/**
 * Resolves when the oldest input has waited long enough, or when the inputs cannot wait. Returns undefined if that is so
 * already.
 */
function gatherMore<A, R>(lane: Lane<A, R>, { ms, canWait }: Gathering<A>): Promise<void> | undefined {
  const canAllWait = (): boolean => lane.items[0]?.isAlone !== true && canWait(lane.items.map(({ input }) => input));
  const leftMs = (lane.items[0]?.arrivedAt ?? 0) + ms - performance.now();
  if (leftMs <= 0 || !canAllWait()) return undefined;
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      lane.onArrival = nothing;
      resolve();
    };
    const timer = setTimeout(end, leftMs);
    lane.onArrival = () => (canAllWait() ? undefined : end());
  });
}

function nothing(): void {}

function takeGroup<A, R>(lane: WaitingItem<A, R>[], fits: (input: A) => boolean): readonly WaitingItem<A, R>[] {
  if (lane[0]?.isAlone === true) return lane.splice(0, 1);
  const end = lane.findIndex(({ input }, at) => !fits(input) && at > 0);
  return lane.splice(0, end < 0 ? lane.length : end);
}
