// Replays recorded calls, oldest first, page by page, so that everybody else has their turn: after every few dozen
// calls, and within those after `turn.ms`.
import { setImmediate } from 'node:timers/promises';
import type { AuditPosition } from '../../domain/audit/audit-query.ts';
import type { ReplayedEntry } from '../../evaluate/replayed-call.ts';
import type { ReplayedPage } from '../../store/audit-replay.ts';

export interface ReplayDeps {
  readonly read: (since: Date, until: Date, after: AuditPosition | null) => Promise<ReplayedPage>;
  /** Ms, never goes back. */
  readonly stopwatch: () => number;
}

export interface Turn {
  readonly entries: readonly ReplayedEntry[];
  /** Rows that were read since the turn before. */
  readonly rows: number;
}

/** How long other requests wait at most, and how many calls are taken before they have their turn anyway. */
const turn = { ms: 10, calls: 50 } as const;

/** A page may hold nothing of interest; whether to go on is asked all the same. */
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

/** False as soon as `take` says so of an entry: it was not taken. */
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
