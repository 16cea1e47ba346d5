// Takes over at the start of a control plane that runs agents. Earlier instances that used the same folder may be
// recorded although their process has ended. They are removed, so that `end-abandoned-runs.ts` finds their runs
// immediately.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { loggable } from '../../../base/loggable.ts';
import { deleteInstance } from '../../store/run-instances.ts';
import type { OperationDeps } from '../../../access/operation.ts';
import { openInstanceFolder } from './instance-folder.ts';

interface TakeOverDeps extends Pick<OperationDeps, 'pool'> {
  readonly log: { warn(fields: object, message: string): void };
}

/** Returns a function that removes the folder of this instance. Call it when this instance has no more runs. */
export async function takeOverRuns({ pool, log }: TakeOverDeps, instance: string, folder: string): Promise<() => Promise<void>> {
  try {
    const opened = await openInstanceFolder(folder, { instance, host: hostname(), randomId: randomUUID });
    for (const dead of opened.dead) await deleteInstance(pool, dead);
    await opened.forget();
    return opened.close;
  } catch (error) {
    log.warn(
      loggable(error),
      'the runs of control planes that no longer run could not be ended now; they are ended later, when the heartbeats of these control planes time out',
    );
    return () => Promise.resolve();
  }
}
