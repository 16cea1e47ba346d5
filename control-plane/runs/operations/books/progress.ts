// Stores the progress of active runs, so that callers can read it. Each run has at most one write at a time. If there
// was more progress during a write, one write of the newest state follows. A run never waits for these writes.
import { cleanJson } from '../../../base/clean-json.ts';
import { type RunRef, runKey, type ToldProgress } from '../../rules/run.ts';
import { updateRunProgress } from '../../store/runs.ts';
import type { OperationDeps } from '../../../access/operation.ts';

export interface Progress {
  /** `generation`: how often the run was resumed before. */
  readonly note: (run: RunRef, generation: number, progress: ToldProgress) => void;
  /** Resolves when no write is pending. */
  readonly settled: () => Promise<void>;
}

interface ProgressWrite {
  next: ToldProgress | null;
  readonly done: Promise<void>;
}

export function createProgress({ pool }: Pick<OperationDeps, 'pool'>): Progress {
  const writing = new Map<string, ProgressWrite>();

  async function write(run: RunRef, generation: number, first: ToldProgress): Promise<void> {
    const key = runKey(run);
    for (let progress: ToldProgress | null = first; progress !== null; ) {
      // A failed write is not repeated. The write of the next round contains the same content, and the end of the run
      // writes everything.
      const transcript = cleanJson(progress.transcript, new Set());
      await updateRunProgress(pool, run, generation, { ...progress, transcript }).catch(() => undefined);
      const state = writing.get(key);
      progress = state?.next ?? null;
      if (state !== undefined) state.next = null;
    }
    writing.delete(key);
  }

  return {
    note: (run, generation, progress) => {
      const key = runKey(run);
      const state = writing.get(key);
      if (state !== undefined) state.next = progress;
      else writing.set(key, { next: null, done: write(run, generation, progress) });
    },
    settled: async () => {
      await Promise.all([...writing.values()].map(({ done }) => done));
    },
  };
}
