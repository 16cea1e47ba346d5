// Defines the interface to the records of a run: its beginning, its progress and its end.
import type { RunProgress, RunRef, ToldProgress } from './rules/run.ts';
import type { Wait, WaitOutcome } from './waiting.ts';

export interface NewRun extends RunRef {
  readonly agentId: string;
  readonly agentName: string;
  /** The user whose daily cap pays for the run: the caller of the root run. Entries name it as `originSub`. */
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
  /** The name of the stop reason in the API; null for a failed run. */
  readonly stopReason: string | null;
  readonly output: string;
  /** The error in words for the caller; null unless the run failed. */
  readonly error: string | null;
  /** JSON, redacted as policy says. */
  readonly transcript: unknown;
}

export interface RunRecords {
  /**
   * Records the beginning of a run. Returns false when the parent is no longer running. In that case the run must not
   * begin.
   */
  begin(run: NewRun): Promise<boolean>;
  /**
   * Records the progress, for clients that read an active run. The run does not wait for the write. If a write fails,
   * the next update or the end of the run writes the same content.
   */
  update(run: RunRef, progress: ToldProgress): void;
  /**
   * Records the end of the run; unsettled reservations count as spent. Retries until the database answers. Returns the
   * cost of the run and all runs below it, or null when the run had already ended (`reserve` reports this as `ended`).
   */
  end(run: RunRef, end: RunEnd): Promise<{ readonly spent: number } | null>;
  /**
   * Asks the questions of a root run and stores it as waiting, in one transaction. Its open reservations are settled.
   * Throws `RunStopped` if the run is no longer active here.
   */
  wait(run: RunRef, wait: Wait): Promise<WaitOutcome>;
  /**
   * Records that a resumed run makes its first tool call, model call or claim after its wait. From now on it cannot be
   * resumed from where it waited: if this process dies, the run fails. Call it before that call. Does nothing for a run
   * that has not waited, or was marked before. Throws `RunStopped` if the run is no longer active here.
   */
  markContinued(run: RunRef): Promise<void>;
}
