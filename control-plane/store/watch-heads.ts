// Tells live streams that a workspace's log has grown: one query every `pollMs` for all streams of this process on all
// workspaces, and none while nobody waits. Not by NOTIFY: taking entries in is a hot path, and a NOTIFY in it would make
// every commit wait for a lock of the whole server.
//
// States: resting (nobody waits, no timer), polling (a timer, or a query under way) and closed (for good).
import { readHeads } from './audit.ts';
import type { Queryable } from './transaction.ts';

export interface HeadWatch {
  /** The head once it is beyond `ingest`; null when it is not within `ms`, or when the signal comes first. */
  waitBeyond(place: { readonly workspaceId: number; readonly ingest: number }, ms: number, signal: AbortSignal): Promise<number | null>;
  /** Who waits is told null, and nothing is asked any more. */
  close(): void;
}

interface Waiter {
  readonly workspaceId: number;
  readonly ingest: number;
  readonly settle: (head: number | null) => void;
}

const standardPollMs = 250;

export function watchHeads(db: Queryable, pollMs = standardPollMs): HeadWatch {
  const waiters = new Set<Waiter>();
  let polling = false;
  let closed = false;
  let turn: NodeJS.Timeout | undefined;

  const poll = async (): Promise<void> => {
    // A stream that came back for more within the last turn keeps the beat; without any, it ends.
    if (waiters.size === 0) {
      polling = false;
      return;
    }
    const workspaceIds = [...new Set([...waiters].map(({ workspaceId }) => workspaceId))];
    // A database that is away is for the streams to notice: they ask it whether their key still stands.
    const heads = await readHeads(db, workspaceIds).catch(() => new Map<number, number>());
    for (const { workspaceId, ingest, settle } of waiters) {
      const head = heads.get(workspaceId) ?? 0;
      if (head > ingest) settle(head);
    }
    if (!closed) turn = setTimeout(() => void poll(), pollMs);
  };

  return {
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
