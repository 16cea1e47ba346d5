// Records which entries were touched after which revision, for a limited number of revisions. Additional keys only cost
// the sidecar bytes. A missing key would result in a wrong hash, and the whole snapshot would have to be sent.
import type { TouchedEntry } from '../workspaces/rules.ts';

export interface ChangeLog {
  /** The keys that were touched after that revision; null if this is no longer known. */
  keysAfter(revision: number): ReadonlySet<string> | null;
  /** The keys must be in the order of revisions, and not before those that are already added. */
  add(touched: readonly TouchedEntry[]): void;
}

/** A delta with more keys than this is not useful. */
const standardKeysMax = 20_000;

export function createChangeLog(since: number, initial: readonly TouchedEntry[], keysMax = standardKeysMax): ChangeLog {
  let from = since;
  let log: TouchedEntry[] = [];
  const add = (touched: readonly TouchedEntry[]): void => {
    for (const one of touched) log.push(one);
    // This runs rarely, so the cost for each call is small.
    if (log.length <= 2 * keysMax) return;
    from = log[log.length - keysMax - 1]?.revision ?? from;
    log = log.slice(firstAfter(log, from));
  };
  add(initial);
  return {
    keysAfter: (revision) => (revision < from ? null : new Set(log.slice(firstAfter(log, revision)).map(({ key }) => key))),
    add,
  };
}

/** The index of the first key that was touched after that revision. */
function firstAfter(log: readonly TouchedEntry[], revision: number): number {
  let low = 0;
  let high = log.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((log[middle]?.revision ?? 0) <= revision) low = middle + 1;
    else high = middle;
  }
  return low;
}
