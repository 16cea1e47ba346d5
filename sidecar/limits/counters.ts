// All windows of this sidecar, by the one the calls are made for and the limit's id. Leases will stand behind the same
// interface: what `allowanceOf` answers is all that deciding and recording ever see.
//
// States: a subject's ledger is made when its first limit is looked up and forgotten by `sweep` when nothing in it is
// charged. A changed snapshot makes new `Limit` objects with the same ids, so counts outlive it. `generation` is
// replaced whenever windows are forgotten or remade; what was found under another one is looked up again.
import type { ChargedWindow, Limit, LimitSet } from '../decide/decision.ts';
import { stepOf, Window } from './window.ts';

export interface Full {
  readonly limit: Limit;
  readonly retryAfterMs: number | null;
}

/** What one subject has used of its limits. */
export interface Allowance {
  /** The most specific limit without room. */
  firstFull(set: LimitSet, now: number): Full | null;
  charge(set: LimitSet, now: number): void;
  /** What is charged to each limit of the set, in its order. */
  usedOf(set: LimitSet, now: number): readonly number[];
}

export interface Counters {
  /** `fold`: the enforced and the shadow fold count apart. */
  allowanceOf(originSub: string, fold: 'enforced' | 'shadow'): Allowance;
  /** Windows of another length; what was counted is kept as long as it would have been. */
  setWindow(seconds: number): void;
  sweep(now: number): void;
  /** How many windows there are. */
  readonly size: number;
}

type Ledger = Map<string, Window>;

export function createCounters(windowSeconds: number): Counters {
  let seconds = windowSeconds;
  // An object, not a number: two sets of counters never take each other's findings for their own.
  let generation = {};
  const ledgers = { enforced: new Map<string, Ledger>(), shadow: new Map<string, Ledger>() };
  const all = (): readonly Map<string, Ledger>[] => Object.values(ledgers);

  const find = (originSub: string, fold: 'enforced' | 'shadow', set: LimitSet): readonly ChargedWindow[] => {
    const ledger = ledgers[fold].get(originSub) ?? new Map<string, Window>();
    ledgers[fold].set(originSub, ledger);
    const windows = set.limits.map(({ id }) => {
      const window = ledger.get(id) ?? new Window(seconds);
      ledger.set(id, window);
      return window;
    });
    set.found = { generation, windows };
    return windows;
  };

  return {
    allowanceOf: (originSub, fold) => {
      const windowsOf = (set: LimitSet): readonly ChargedWindow[] => {
        const { found } = set;
        return found !== null && found.generation === generation ? found.windows : find(originSub, fold, set);
      };
      return {
        firstFull: (set, now) => {
          const windows = windowsOf(set);
          const step = stepOf(now);
          for (let at = windows.length - 1; at >= 0; at--) {
            const limit = set.limits[at];
            const window = windows[at];
            if (limit !== undefined && window !== undefined && window.used(step) >= limit.max)
              return { limit, retryAfterMs: window.waitFor(limit.max, now) };
          }
          return null;
        },
        charge: (set, now) => {
          const step = stepOf(now);
          for (const window of windowsOf(set)) window.add(step);
        },
        usedOf: (set, now) => windowsOf(set).map((window) => window.used(stepOf(now))),
      };
    },
    setWindow: (length) => {
      if (length === seconds) return;
      seconds = length;
      generation = {};
      for (const bySub of all()) {
        for (const ledger of bySub.values()) for (const [id, window] of ledger) ledger.set(id, new Window(seconds, window.charges()));
      }
    },
    sweep: (now) => {
      const step = stepOf(now);
      for (const bySub of all()) {
        for (const [sub, ledger] of bySub) {
          for (const [id, window] of ledger) {
            if (window.used(step) > 0) continue;
            ledger.delete(id);
            generation = {};
          }
          if (ledger.size === 0) bySub.delete(sub);
        }
      }
    },
    get size() {
      return all().reduce((sum, bySub) => [...bySub.values()].reduce((inner, ledger) => inner + ledger.size, sum), 0);
    },
  };
}
