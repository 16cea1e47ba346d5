// Decides which functions an operation runs, from V8's precise coverage. Called by operations.ts.
// After a warm-up, `operationCount` intervals with one operation each are recorded, and among them as many of the same
// lengths without. An operation includes a function that ran in at least `growthMin` of the first intervals, and whose
// calls in all of these exceed those in the others by at least `growthMin`. Therefore work in the background
// (heartbeats, timers, periodic tasks) does not count: it is in both, and so is work whose rate changes with time.
// Operations follow one another so slowly that entries and acknowledgements travel alone, so a function that runs once
// for a batch counts; `growthMin` is below `operationCount`, so that a few late operations change nothing.
import { isRecord } from '../../support/checkout/tree.ts';

export const operationCount = 12;
export const growthMin = 9;

interface FunctionCalls {
  /** URL of the script. */
  readonly script: string;
  /** Where the function begins in the script, in characters. */
  readonly start: number;
  readonly calls: number;
}

/** By script and range of the function. */
export type Recording = ReadonlyMap<string, FunctionCalls>;

/** `result` of `Profiler.takePreciseCoverage`, of files below `rootUrl` (which ends in `/`) without installed packages. */
export function readRecording(result: unknown, rootUrl: string): Recording {
  if (!Array.isArray(result)) throw new Error('the inspector answered without coverage');
  const calls = new Map<string, FunctionCalls>();
  for (const script of result.filter(isRecord)) {
    const url = String(script['url']);
    if (!url.startsWith(rootUrl) || url.includes('/node_modules/') || !Array.isArray(script['functions'])) continue;
    for (const one of script['functions'].filter(isRecord)) {
      const [range]: readonly unknown[] = Array.isArray(one['ranges']) ? one['ranges'] : [];
      if (!isRecord(range)) continue;
      const { startOffset, endOffset, count } = range;
      const key = `${url}:${String(startOffset)}-${String(endOffset)}`;
      // A script may be listed twice where it was loaded twice.
      calls.set(key, { script: url, start: Number(startOffset), calls: (calls.get(key)?.calls ?? 0) + Number(count) });
    }
  }
  return calls;
}

/** The functions that the operations passed, by key. */
export function listPassed(busy: readonly Recording[], idle: readonly Recording[]): Recording {
  const inBusy = sumUp(busy);
  const inIdle = sumUp(idle);
  return new Map(
    [...inBusy].filter(([key, { calls, intervals }]) => intervals >= growthMin && calls - (inIdle.get(key)?.calls ?? 0) >= growthMin),
  );
}

/** Total calls, and the number of recordings with a call. */
function sumUp(recordings: readonly Recording[]): ReadonlyMap<string, FunctionCalls & { readonly intervals: number }> {
  const sums = new Map<string, FunctionCalls & { readonly intervals: number }>();
  for (const recording of recordings) {
    for (const [key, one] of recording) {
      const before = sums.get(key);
      const intervals = (before?.intervals ?? 0) + Number(one.calls > 0);
      sums.set(key, { ...one, calls: (before?.calls ?? 0) + one.calls, intervals });
    }
  }
  return sums;
}
