// Gives a restored copy of a database a new epoch, so that its revisions are not confused with revisions that sidecars
// have seen. The person who restores the database starts this on the command line. It is not part of the API.

import { hasTable, lockStart, readDeployment, updateEpoch } from '../deployment.ts';
import { markRestored, type RestoredState } from '../restored.ts';
import { endAnsweredRuns } from '../../runs/store/waiting-runs.ts';
import { listHeartbeats } from '../../runs/store/run-instances.ts';
import { inTransaction } from '../transaction.ts';
import type { OperationDeps } from '../../access/operation.ts';

export type EpochRenewal =
  | { readonly kind: 'renewed'; readonly before: string; readonly epoch: string; readonly restored: RestoredState }
  /** Nothing was done, for this reason. */
  | { readonly kind: 'refused'; readonly reason: string };

interface RenewDeps extends Pick<OperationDeps, 'pool' | 'random'> {
  readonly wait: (ms: number) => Promise<unknown>;
  /** Migrates the database to the schema of this version, because an earlier version may have written the copy. */
  readonly migrate: () => Promise<void>;
}

const epochBytes = 16;
/**
 * How long to watch the heartbeats. A running control plane writes a heartbeat every second. A heartbeat that came with
 * the copy does not change, however recent it is.
 */
const lookMs = 2_500;

/**
 * `force`: renew the epoch even while control planes run on this database. They notice the new epoch within a second.
 */
export async function renewEpoch(
  { pool, random, wait, migrate }: RenewDeps,
  { force }: { readonly force: boolean },
): Promise<EpochRenewal> {
  // This check comes before any write, because the database may belong to another program.
  if (!(await hasTable(pool, 'deployment'))) return neverRan;
  const live = force ? 0 : await countLive({ pool, wait });
  if (live > 0)
    return refused(
      `${live === 1 ? 'a control plane runs' : `${live} control planes run`} on this database; stop ${live === 1 ? 'it' : 'them'} first, or use --force`,
    );
  await migrate();
  return inTransaction(
    pool,
    async (client) => {
      await lockStart(client);
      const deployment = await readDeployment(client);
      if (deployment === null) return neverRan;
      const epoch = Buffer.from(random(epochBytes)).toString('hex');
      await updateEpoch(client, epoch);
      // Since the copy was made they have continued, and their calls must not be made a second time.
      await endAnsweredRuns(client, copied);
      return { kind: 'renewed', before: deployment.epoch, epoch, restored: await markRestored(client) };
    },
    'patient',
  );
}

const copied =
  'the call that the run waited for was answered when the backup was made that was restored; what the run has done since is not known';

async function countLive({ pool, wait }: Pick<RenewDeps, 'pool' | 'wait'>): Promise<number> {
  if (!(await hasTable(pool, 'run_instance'))) return 0;
  const before = await listHeartbeats(pool);
  await wait(lookMs);
  const after = await listHeartbeats(pool);
  return [...after].filter(([id, at]) => at !== before.get(id)).length;
}

const refused = (reason: string): EpochRenewal => ({ kind: 'refused', reason });

const neverRan = refused('this database holds no workspaces: no control plane has run on it');
