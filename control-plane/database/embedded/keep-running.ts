// Keeps PostgreSQL running until it is stopped. If it was killed or has ended, it is started again after a wait that
// grows while it keeps failing. In the meantime, users of the database see it as not available, as with a remote
// database, and connect again. Called by `start.ts`, which holds the lock.
//
// States: running → ended → waiting → starting → running, or waiting again if the start fails; stopped, from any state.
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Postmaster } from './postmaster.ts';

interface KeepDeps {
  /** Starts PostgreSQL, or adopts a running one, in the same place as before. */
  readonly start: (signal: AbortSignal) => Promise<Postmaster>;
  readonly warn: (line: string) => void;
}

const waitMs = { first: 250, max: 30_000 };
/** A server that ran for this long no longer counts as failing. */
const stayedMs = 60_000;

export function keepRunning(first: Postmaster, { start, warn }: KeepDeps): { readonly stop: () => Promise<void> } {
  const stopping = new AbortController();
  const { signal } = stopping;
  const stopped = once(signal, 'abort');
  let running: Postmaster | null = first;
  let nextMs = waitMs.first;

  async function keep(): Promise<void> {
    for (let current = first; ; current = await startAgain()) {
      running = current;
      const since = performance.now();
      const how = await Promise.race([current.ended(), stopped]);
      if (signal.aborted) return;
      running = null;
      if (performance.now() - since >= stayedMs) nextMs = waitMs.first;
      warn(`the embedded PostgreSQL, pid ${current.pid}, has ended, ${String(how)}; it is started again`);
    }
  }

  async function startAgain(): Promise<Postmaster> {
    for (;;) {
      await delay(nextMs, undefined, { signal, ref: false });
      nextMs = Math.min(nextMs * 2, waitMs.max);
      try {
        const started = await start(signal);
        warn(`the embedded PostgreSQL runs again, pid ${started.pid}`);
        return started;
      } catch (error) {
        signal.throwIfAborted();
        warn(
          `the embedded PostgreSQL did not start again; next try in ${nextMs / 1000} s: ${error instanceof Error ? error.message : String(error)}`,
        );
      }
    }
  }

  const kept = keep().catch((error: unknown) => {
    if (!signal.aborted) warn(`the embedded PostgreSQL is no longer monitored: ${String(error)}`);
  });
  return {
    async stop() {
      stopping.abort();
      await kept;
      await running?.stop();
    },
  };
}
