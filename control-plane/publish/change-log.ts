// Which entries were touched after which revision, as far back as is held. More than is told costs a sidecar bytes; less would cost it
// its hash, and then the whole.
import type { Touched } from '../compile/state.ts';

export interface ChangeLog {
  /** What was touched after that revision; null where that is not known any more. */
  keysAfter(revision: number): ReadonlySet<string> | null;
  /** In the order of revisions, none before what is there. */
  add(touched: readonly Touched[]): void;
}

/** More keys than these make no delta that anybody would want. */
const standardKeysMax = 20_000;

export function createChangeLog(since: number, initial: readonly Touched[], keysMax = standardKeysMax): ChangeLog {
  let from = since;
  let log: Touched[] = [];
  const add = (touched: readonly Touched[]): void => {
    for (const one of touched) log.push(one);
    // Seldom, so that it costs little each time.
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

/** The place of the first that was touched after that revision. */
function firstAfter(log: readonly Touched[], revision: number): number {
  let low = 0;
  let high = log.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((log[middle]?.revision ?? 0) <= revision) low = middle + 1;
    else high = middle;
  }
  return low;
}
