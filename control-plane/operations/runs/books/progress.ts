// How far runs have come, for who reads them while they go on: one write at a time for each run, and where more has happened
// meanwhile, one of the newest after it. A run never waits for it.
import { cleanJson } from '../../../domain/clean-json.ts';
import { type RunRef, runKey, type ToldProgress } from '../../../domain/runs/run.ts';
import { updateRunProgress } from '../../../store/runs.ts';
import type { Deps } from '../../operation.ts';

interface Progress {
  readonly note: (run: RunRef, progress: ToldProgress) => void;
  /** Resolves once nothing is being written. */
  readonly settled: () => Promise<void>;
}

interface Writing {
  next: ToldProgress | null;
  readonly done: Promise<void>;
}

export function createProgress({ pool }: Pick<Deps, 'pool'>): Progress {
  const writing = new Map<string, Writing>();

  async function write(run: RunRef, first: ToldProgress, key: string): Promise<void> {
    for (let progress: ToldProgress | null = first; progress !== null; ) {
      // What is lost the next round says again, and the end says all of it.
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
