// Why a run stops before its goal. Thrown, and the reason of its signal: what is in flight ends with it.
import type { RunStopReason } from './events.ts';

/** `ended`: the database says that it is not running any more. */
export type Stop = Exclude<RunStopReason, 'goal_complete'> | 'ended';

export class RunStopped extends Error {
  override readonly name = 'RunStopped';
  readonly stop: Stop;

  constructor(stop: Stop) {
    super(`the run was stopped: ${stop}`);
    this.stop = stop;
  }
}
