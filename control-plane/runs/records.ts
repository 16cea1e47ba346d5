// What is kept of a run: that it began, how far it has come, and how it ended.
import type { RunProgress, RunRef, ToldProgress } from '../domain/runs/run.ts';

export interface NewRun extends RunRef {
  readonly agentId: string;
  readonly agentName: string;
  /** Whose day pays: the caller of the root run, `originSub` in entries. */
  readonly sub: string;
  readonly parentRunId: string | null;
  readonly model: string;
  /** Of the run and all below it. */
  readonly budget: number;
  /** As it was asked for: `{input, context?, stream?}`. */
  readonly request: unknown;
}

export interface RunEnd extends RunProgress {
  readonly status: 'completed' | 'failed' | 'cancelled';
  /** As the API names it; null for a run that failed. */
  readonly stopReason: string | null;
  readonly output: string;
  /** In words for the caller; null but for a run that failed. */
  readonly error: string | null;
  /** JSON, redacted as policy says. */
  readonly transcript: unknown;
}

export interface RunRecords {
  /** False where the parent is not running any more: the run must not begin. */
  begin(run: NewRun): Promise<boolean>;
  /** For who reads the run while it goes on. Nobody waits for it, and what could not be written is written by the next, or by the end. */
  update(run: RunRef, progress: ToldProgress): void;
  /** Reservations that nobody settled are spent. Tried until the database answers. What the run and all below it cost; null where it had ended already, as reserve's `ended`. */
  end(run: RunRef, end: RunEnd): Promise<{ readonly spent: number } | null>;
}
