// Replays recorded calls, oldest first, page by page. It lets other work run after every few dozen calls, and also in
// between when `turn.ms` have passed.
import { setImmediate } from 'node:timers/promises';
import type { AuditPosition } from '../rules/audit-query.ts';
import type { ReplayedEntry } from '../../policies/evaluate/replayed-call.ts';
import type { ReplayedPage, ReplayRange } from '../store/audit-replay.ts';

export interface ReplayDeps {
  readonly read: (range: ReplayRange) => Promise<ReplayedPage>;
  /** Returns a monotonic time in ms. */
  readonly stopwatch: () => number;
}

export interface Turn {
  readonly entries: readonly ReplayedEntry[];
  /** Rows that were read since the previous turn. */
  readonly rows: number;
}

/**
 * `ms`: the maximum time that other requests wait. `calls`: other requests get their turn after this number of calls in
 * any case.
 */
const turn = { ms: 10, calls: 50 } as const;

/** Yields every page, even if it contains no relevant entries, so that the caller can stop. */
export async function* replayTurns({ read }: ReplayDeps, range: Omit<ReplayRange, 'after'>): AsyncGenerator<Turn> {
  for (let after: AuditPosition | null = null; ; ) {
    const page: ReplayedPage = await read({ ...range, after });
    for (let at = 0; at === 0 || at < page.entries.length; at += turn.calls) {
      yield { entries: page.entries.slice(at, at + turn.calls), rows: at === 0 ? page.rows : 0 };
      await setImmediate();
    }
    if (page.after === null) return;
    after = page.after;
  }
}

/**
 * Passes each entry of the turn to `take`. Returns false as soon as `take` returns false, which means that `take` did
 * not process the entry.
 */
export async function takeTurn(
  { entries }: Turn,
  stopwatch: ReplayDeps['stopwatch'],
  take: (entry: ReplayedEntry) => boolean,
): Promise<boolean> {
  let startedAt = stopwatch();
  for (const entry of entries) {
    if (stopwatch() >= startedAt + turn.ms) {
      await setImmediate();
      startedAt = stopwatch();
    }
    if (!take(entry)) return false;
  }
  return true;
}
