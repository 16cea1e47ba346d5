// `tollgate-control-plane restore` prepares a database that was restored from a backup, before sidecars make decisions
// with it. It finds the database in the same way as `start`.
import { randomBytes } from 'node:crypto';
import { type EpochRenewal, renewEpoch } from '../database/operations/renew-epoch.ts';
import { migrate } from '../database/migrate.ts';
import { workOnDatabase } from './work-on-database.ts';

export type { EpochRenewal };

interface RestoreOptions {
  readonly force: boolean;
  readonly wait: (ms: number) => Promise<unknown>;
  /** Reports additional information for the user, one line each. */
  readonly note: (line: string) => void;
}

/**
 * Prepares the restored database. The result is also a refusal if the configuration is wrong or the database cannot be
 * reached.
 */
export const restoreDatabase = (
  env: Readonly<Record<string, string | undefined>>,
  { force, wait, note }: RestoreOptions,
): Promise<EpochRenewal> =>
  workOnDatabase(env, note, ({ pool, connection }) =>
    renewEpoch({ pool, random: (size) => randomBytes(size), wait, migrate: () => migrate(connection) }, { force }),
  );
