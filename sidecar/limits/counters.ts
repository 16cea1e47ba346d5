// All windows of this sidecar, by the one the calls are made for and the limit's id. Leases will stand behind the same
// interface: what `allowanceOf` answers is all that deciding and recording ever see.
//
// States: an allowance is made when a subject's first call is decided and forgotten by `sweep` when nothing in it is
// charged. A changed snapshot makes new `Limit` objects with the same ids, so counts outlive it.
import type { Limit } from '../decide/decision.ts';
import { createWindow, type Window } from './window.ts';

export interface Full {
  readonly limit: Limit;
  readonly retryAfterMs: number | null;
}

/** What one subject has used of its limits. */
export interface Allowance {
  /** The most specific limit without room; `limits` is broad to specific. */
  firstFull(limits: readonly Limit[], now: number): Full | null;
  charge(limits: readonly Limit[], now: number): void;
}

export interface Counters {
  /** `fold`: the enforced and the shadow fold count apart. */
  allowanceOf(originSub: string, fold: 'enforced' | 'shadow'): Allowance;
  /** Windows of another length; what was counted is kept as long as it would have been. */
  setWindow(seconds: number): void;
  sweep(now: number): void;
  readonly size: number;
}

interface Ledger extends Allowance {
  idle(now: number): boolean;
}

export function createCounters(windowSeconds: number): Counters {
  let seconds = windowSeconds;
  const ledgers = { enforced: new Map<string, Ledger>(), shadow: new Map<string, Ledger>() };
  return {
    allowanceOf: (originSub, fold) => {
      const known = ledgers[fold].get(originSub);
      if (known !== undefined) return known;
      const ledger = createLedger(() => seconds);
      ledgers[fold].set(originSub, ledger);
      return ledger;
    },
    setWindow: (length) => {
      seconds = length;
    },
    sweep: (now) => {
      for (const bySub of Object.values(ledgers)) {
        for (const [sub, ledger] of bySub) if (ledger.idle(now)) bySub.delete(sub);
      }
    },
    get size() {
      return ledgers.enforced.size + ledgers.shadow.size;
    },
  };
}

interface Timed {
  readonly seconds: number;
  readonly window: Window;
}

// How many lists of limits a ledger remembers the windows of; lists belong to plans, which are remade with a snapshot.
const listsMax = 1_024;

function createLedger(secondsNow: () => number): Ledger {
  const windows = new Map<string, Timed>();
  const lists = new Map<readonly Limit[], readonly Window[]>();
  let listsFor = secondsNow();

  const windowOf = ({ id }: Limit): Window => {
    const known = windows.get(id);
    if (known !== undefined && known.seconds === secondsNow()) return known.window;
    const timed = { seconds: secondsNow(), window: createWindow(secondsNow(), known?.window.charges()) };
    windows.set(id, timed);
    return timed.window;
  };
  const windowsOf = (limits: readonly Limit[]): readonly Window[] => {
    const known = lists.get(limits);
    if (known !== undefined && listsFor === secondsNow()) return known;
    if (lists.size >= listsMax || listsFor !== secondsNow()) lists.clear();
    listsFor = secondsNow();
    const found = limits.map(windowOf);
    lists.set(limits, found);
    return found;
  };

  return {
    firstFull: (limits, now) => {
      const found = windowsOf(limits);
      for (let at = limits.length - 1; at >= 0; at--) {
        const limit = limits[at];
        const window = found[at];
        if (limit !== undefined && window !== undefined && window.used(now) >= limit.max) return { limit, retryAfterMs: window.waitFor(limit.max, now) };
      }
      return null;
    },
    charge: (limits, now) => {
      if (limits.length === 0) return;
      for (const window of windowsOf(limits)) window.add(now);
    },
    idle: (now) => {
      for (const { window } of windows.values()) if (!window.idle(now)) return false;
      return true;
    },
  };
}
