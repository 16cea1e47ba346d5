// The records of a run: its beginning, its progress and its end.
import type { RunProgress, RunRef, ToldProgress } from './rules/run.ts';

export interface NewRun extends RunRef {
  readonly agentId: string;
  readonly agentName: string;
  /** The user whose daily cap pays: the caller of the root run, `originSub` in entries. */
  readonly sub: string;
  readonly parentRunId: string | null;
  readonly model: string;
  /** The budget of the run and all runs below it, in µ¢. */
  readonly budget: number;
  /** The request: `{input, context?, stream?}`. */
  readonly request: unknown;
}

export interface RunEnd extends RunProgress {
  readonly status: 'completed' | 'failed' | 'cancelled';
  /** The API's name of the reason; null for a failed run. */
  readonly stopReason: string | null;
  readonly output: string;
  /** The error in words for the caller; null unless the run failed. */
  readonly error: string | null;
  /** JSON, redacted as policy says. */
  readonly transcript: unknown;
}

export interface RunRecords {
  /** False when the parent is no longer running: the run must not begin. */
  begin(run: NewRun): Promise<boolean>;
  /**
   * For clients that read an active run. It is not awaited. What could not be written is written by the next update or
   * by the end.
   */
  update(run: RunRef, progress: ToldProgress): void;
  /**
   * Ends the run; unsettled reservations count as spent. Retries until the database answers. Returns the cost of the
   * run and all runs below it, or null when the run had already ended (`ended` of `reserve`).
   */
  end(run: RunRef, end: RunEnd): Promise<{ readonly spent: number } | null>;
}
