// Notifies live streams that a workspace's log has grown. It uses one query each `pollMs` for all streams of this
// process on all workspaces, and no query while no stream waits. It does not use NOTIFY, because storing entries is a
// hot path, and NOTIFY would make every commit wait for a server-wide lock.
//
// States: resting (no stream waits, no timer), polling (a timer or a query is pending) and closed (final).
import { readHeads } from './audit.ts';
import type { Queryable } from '../../database/transaction.ts';

export interface HeadWatch {
  /** Returns whether a stream of this process waits for the log of the workspace. */
  isWatched(workspaceId: number): boolean;
  /**
   * Resolves with the head when it is beyond `ingest`; with null if that does not happen within `ms`, or if the signal
   * is aborted first.
   */
  waitBeyond(place: { readonly workspaceId: number; readonly ingest: number }, ms: number, signal: AbortSignal): Promise<number | null>;
  /** Resolves all waiting calls with null, and stops the queries. */
  close(): void;
}

interface Waiter {
  readonly workspaceId: number;
  readonly ingest: number;
  readonly settle: (head: number | null) => void;
}

const standardPollMs = 50;

export function watchHeads(db: Queryable, pollMs = standardPollMs): HeadWatch {
  const waiters = new Set<Waiter>();
  let polling = false;
  let closed = false;
  let turn: NodeJS.Timeout | undefined;

  const poll = async (): Promise<void> => {
    // A stream that waits again before the next poll keeps the polling active. If no stream waits, the polling ends.
    if (waiters.size === 0) {
      polling = false;
      return;
    }
    const workspaceIds = [...new Set([...waiters].map(({ workspaceId }) => workspaceId))];
    // A failure of the database is ignored here. The streams notice it when they check their key.
    const heads = await readHeads(db, workspaceIds).catch(() => new Map<number, number>());
    for (const { workspaceId, ingest, settle } of waiters) {
      const head = heads.get(workspaceId) ?? 0;
      if (head > ingest) settle(head);
    }
    if (!closed) turn = setTimeout(() => void poll(), pollMs);
  };

  return {
    isWatched: (workspaceId) => [...waiters].some((waiter) => waiter.workspaceId === workspaceId),
    waitBeyond: ({ workspaceId, ingest }, ms, signal) =>
      new Promise((resolve) => {
        if (closed || signal.aborted) return resolve(null);
        const settle = (head: number | null): void => {
          waiters.delete(waiter);
          clearTimeout(timer);
          signal.removeEventListener('abort', give);
          resolve(head);
        };
        const give = (): void => settle(null);
        const waiter: Waiter = { workspaceId, ingest, settle };
        const timer = setTimeout(give, ms);
        signal.addEventListener('abort', give, { once: true });
        waiters.add(waiter);
        if (!polling) {
          polling = true;
          turn = setTimeout(() => void poll(), pollMs);
        }
      }),
    close: () => {
      closed = true;
      clearTimeout(turn);
      for (const { settle } of waiters) settle(null);
    },
  };
}
