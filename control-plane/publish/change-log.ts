// Records which entries were touched at which revision, for the most recent revisions. An additional key only adds some
// bytes to a delta. A missing key would cause a wrong hash in the sidecar, so that the whole snapshot would have to be
// sent.
import type { TouchedEntry } from '../workspaces/rules.ts';

export interface ChangeLog {
  /** Returns the keys that were touched after `revision`; null if they are no longer known. */
  keysAfter(revision: number): ReadonlySet<string> | null;
  /**
   * Adds touched keys. They must be in the order of their revisions, and must not be older than the keys that were
   * added before.
   */
  add(touched: readonly TouchedEntry[]): void;
}

/** The number of keys that the log keeps. A delta with more keys is not useful. */
const standardKeysMax = 20_000;

export function createChangeLog(since: number, initial: readonly TouchedEntry[], keysMax = standardKeysMax): ChangeLog {
  let from = since;
  let log: TouchedEntry[] = [];
  const add = (touched: readonly TouchedEntry[]): void => {
    for (const one of touched) log.push(one);
    // The log is shortened only when it has twice as many keys as needed, so the average cost of a call is small.
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
