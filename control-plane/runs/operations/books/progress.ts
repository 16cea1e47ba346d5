// Stores the progress of runs for callers that read them while they run. There is one write at a time for each run. If
// there was more progress in the meantime, one write of the newest state follows. A run never waits for these writes.
import { cleanJson } from '../../../base/clean-json.ts';
import { type RunRef, runKey, type ToldProgress } from '../../rules/run.ts';
import { updateRunProgress } from '../../store/runs.ts';
import type { OperationDeps } from '../../../access/operation.ts';

export interface Progress {
  readonly note: (run: RunRef, progress: ToldProgress) => void;
  /** Resolves when no write is pending. */
  readonly settled: () => Promise<void>;
}

interface ProgressWrite {
  next: ToldProgress | null;
  readonly done: Promise<void>;
}

export function createProgress({ pool }: Pick<OperationDeps, 'pool'>): Progress {
  const writing = new Map<string, ProgressWrite>();

  async function write(run: RunRef, first: ToldProgress, key: string): Promise<void> {
    for (let progress: ToldProgress | null = first; progress !== null; ) {
      // The next round contains what a failed write lost, and the end of the run contains everything.
      const transcript = cleanJson(progress.transcript, new Set());
      await updateRunProgress(pool, run, { ...progress, transcript }).catch(() => undefined);
      const state = writing.get(key);
      progress = state?.next ?? null;
      if (state !== undefined) state.next = null;
    }
    writing.delete(key);
  }

  return {
    note: (run, progress) => {
      const key = runKey(run);
      const state = writing.get(key);
      if (state !== undefined) state.next = progress;
      else writing.set(key, { next: null, done: write(run, progress, key) });
    },
    settled: async () => {
      await Promise.all([...writing.values()].map(({ done }) => done));
    },
  };
}
