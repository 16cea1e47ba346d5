// Replays recorded calls, oldest first, page by page. It yields to other work after every few dozen calls, and within
// those after `turn.ms`.
import { setImmediate } from 'node:timers/promises';
import type { AuditPosition } from '../rules/audit-query.ts';
import type { ReplayedEntry } from '../../policies/evaluate/replayed-call.ts';
import type { ReplayedPage } from '../store/audit-replay.ts';

export interface ReplayDeps {
  readonly read: (since: Date, until: Date, after: AuditPosition | null) => Promise<ReplayedPage>;
  /** In ms, monotonic. */
  readonly stopwatch: () => number;
}

export interface Turn {
  readonly entries: readonly ReplayedEntry[];
  /** Rows that were read since the previous turn. */
  readonly rows: number;
}

/** The maximum time that other requests wait, and the number of calls after which they get their turn in any case. */
const turn = { ms: 10, calls: 50 } as const;

/** A page can contain no relevant entries. It is yielded in any case, so that the caller can stop. */
export async function* replayTurns({ read }: ReplayDeps, since: Date, until: Date): AsyncGenerator<Turn> {
  for (let after: AuditPosition | null = null; ; ) {
    const page: ReplayedPage = await read(since, until, after);
    for (let at = 0; at === 0 || at < page.entries.length; at += turn.calls) {
      yield { entries: page.entries.slice(at, at + turn.calls), rows: at === 0 ? page.rows : 0 };
      await setImmediate();
    }
    if (page.after === null) return;
    after = page.after;
  }
}

/** False as soon as `take` returns false for an entry: that entry was not processed. */
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
