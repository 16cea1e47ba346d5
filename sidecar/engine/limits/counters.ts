// Counts calls in windows of this process alone. Each window belongs to one limit and to the subject that the calls are
// made for. These counters are used for shadows, and to decide past or simulated calls. `leased-counters.ts` has the
// same interface: deciding and recording only see what `allowanceOf` returns.
//
// States: a window is created when its limit is first looked up for a subject. `sweep` removes the window when no call
// is charged in it any more. A changed snapshot creates new `Limit` objects with the same ids, so the counts survive
// the change. `generation` is replaced whenever windows are removed or rebuilt. A lookup that was cached in another
// generation is done again.
import type { ChargedWindow, Full, LeasedCounter, LimitSet, Undo } from '../decide/decision.ts';
import type { SharedRun } from './leases.ts';
import type { SharedRunCalls } from './shared-calls.ts';
import type { Retry } from './waiting.ts';
import { stepOf, Window } from './window.ts';

/** What one subject has used of its limits. */
export interface Allowance {
  /** Returns the most specific limit that has no calls left. Null: every limit has calls left. */
  firstFull(set: LimitSet, now: number): Full | null;
  charge(set: LimitSet, now: number): void;
  /** Returns the undo of the call that was charged last, at `chargedAt`. */
  undoOf(set: LimitSet, chargedAt: number): Undo;
}

export interface Counters {
  /** Returns the usage of one subject. `fold`: the enforced and the shadow fold use separate counters. */
  allowanceOf(originSub: string, fold: 'enforced' | 'shadow'): Allowance;
  /** Returns the counter of a run that other processes may serve too. Null: only this process counts the run. */
  sharedCalls(run: SharedRun): SharedRunCalls | null;
  /** Tries a call again as soon as it may pass. The last try is when the call has waited long enough, or at `until`. */
  wait(awaits: readonly LeasedCounter[], now: number, until: number, retry: Retry): void;
  /** Changes the length of the windows. Calls that are already counted stay charged for the new length. */
  setWindow(seconds: number): void;
  sweep(now: number): void;
  /** The number of counters in use. */
  readonly size: number;
}

interface LocalCounters extends Counters {
  allowanceOf(originSub: string, fold: 'enforced' | 'shadow'): LocalAllowance;
}

/** The windows of one subject, by limit. */
type Windows = Map<string, Window>;

const noLeases: readonly LeasedCounter[] = [];

interface Current {
  /** An object instead of a number, so that two sets of counters never use each other's cached lookups. */
  generation: object;
}

type Find = (set: LimitSet) => readonly ChargedWindow[];

/**
 * Returns the windows of a set of limits. This is a function, because calling a private method would add a check of the
 * object to each call of `decide`.
 */
function windowsOf({ generation }: Current, find: Find, set: LimitSet): readonly ChargedWindow[] {
  const { found } = set;
  return found !== null && found.generation === generation ? found.windows : find(set);
}

class LocalAllowance implements Allowance {
  readonly originSub: string;
  readonly #current: Current;
  readonly #find: Find;

  constructor(originSub: string, current: Current, find: Find) {
    this.originSub = originSub;
    this.#current = current;
    this.#find = find;
  }

  firstFull(set: LimitSet, now: number): Full | null {
    const windows = windowsOf(this.#current, this.#find, set);
    const step = stepOf(now);
    for (let at = windows.length - 1; at >= 0; at--) {
      const limit = set.limits[at];
      const window = windows[at];
      if (limit !== undefined && window !== undefined && window.used(step) >= limit.max)
        return { limit, retryAfterMs: window.waitFor(limit.max, now), awaits: null, dry: null };
    }
    return null;
  }

  charge(set: LimitSet, now: number): void {
    const step = stepOf(now);
    for (const window of windowsOf(this.#current, this.#find, set)) window.add(step);
  }

  // Looks up the windows again at the undo, because a policy change may have replaced them. The new windows hold the
  // same counts.
  undoOf(set: LimitSet, chargedAt: number): Undo {
    const step = stepOf(chargedAt);
    return () => {
      for (const window of windowsOf(this.#current, this.#find, set)) window.remove(step);
    };
  }

  /** Returns the number of calls that are charged to each limit, in the order of the set. */
  usedOf(set: LimitSet, now: number): readonly number[] {
    return windowsOf(this.#current, this.#find, set).map((window) => window.used(stepOf(now)));
  }
}

export function createCounters(windowSeconds: number): LocalCounters {
  let seconds = windowSeconds;
  const current: Current = { generation: {} };
  const folds = { enforced: new Map<string, Windows>(), shadow: new Map<string, Windows>() };
  const all = (): readonly Map<string, Windows>[] => Object.values(folds);

  const find = (originSub: string, fold: keyof typeof folds, set: LimitSet): readonly ChargedWindow[] => {
    const ofSub = folds[fold].get(originSub) ?? new Map<string, Window>();
    folds[fold].set(originSub, ofSub);
    const windows = set.limits.map(({ id }) => {
      const window = ofSub.get(id) ?? new Window(seconds);
      ofSub.set(id, window);
      return window;
    });
    set.found = { generation: current.generation, windows, leases: noLeases };
    return windows;
  };

  const allowance = (originSub: string, fold: keyof typeof folds): LocalAllowance =>
    new LocalAllowance(originSub, current, (set) => find(originSub, fold, set));
  // Most runs of a process have the same subject, and an allowance has no state of its own.
  const latest = { enforced: allowance('', 'enforced'), shadow: allowance('', 'shadow') };

  return {
    allowanceOf: (originSub, fold) => {
      if (latest[fold].originSub !== originSub) latest[fold] = allowance(originSub, fold);
      return latest[fold];
    },
    sharedCalls: () => null,
    // Other processes cannot free calls in these counters, so waiting does not help: the call is decided at once.
    wait: (_awaits, now, _until, retry) => void retry(true, now),
    setWindow: (length) => {
      if (length === seconds) return;
      seconds = length;
      current.generation = {};
      for (const bySub of all()) {
        for (const ofSub of bySub.values()) for (const [id, window] of ofSub) ofSub.set(id, new Window(seconds, window.charges()));
      }
    },
    sweep: (now) => {
      const step = stepOf(now);
      for (const bySub of all()) {
        for (const [sub, ofSub] of bySub) {
          for (const [id, window] of ofSub) {
            if (window.used(step) > 0) continue;
            ofSub.delete(id);
            current.generation = {};
          }
          if (ofSub.size === 0) bySub.delete(sub);
        }
      }
    },
    get size() {
      return all().reduce((sum, bySub) => [...bySub.values()].reduce((inner, ofSub) => inner + ofSub.size, sum), 0);
    },
  };
}
