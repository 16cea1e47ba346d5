// Defines the error for a run that stops before its goal. The error is thrown. It is also the abort reason of the run's
// signal, so that work in progress fails with the same error.
import type { RunStopReason } from './events.ts';

/** `ended`: the database says that the run is no longer active. */
export type Stop = Exclude<RunStopReason, 'goal_complete'> | 'ended';

export class RunStopped extends Error {
  override readonly name = 'RunStopped';
  readonly stop: Stop;

  constructor(stop: Stop) {
    super(`the run was stopped: ${stop}`);
    this.stop = stop;
  }
}
