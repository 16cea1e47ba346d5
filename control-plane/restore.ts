// `tollgate restore`: what is to be done to a database that was put back from a backup, before sidecars decide by it. It finds the
// database as `tollgate start` does.
import { randomBytes } from 'node:crypto';
import { type Renewed, renewEpoch } from './operations/deployment/renew-epoch.ts';
import { migrate } from './store/migrate.ts';
import { workOnDatabase } from './work-on-database.ts';

export type { Renewed };

interface RestoreOptions {
  readonly force: boolean;
  readonly wait: (ms: number) => Promise<unknown>;
  /** What is worth a line beside the answer. */
  readonly note: (line: string) => void;
}

/** Refused also where the configuration is wrong, or the database cannot be reached. */
export const restoreDatabase = (
  env: Readonly<Record<string, string | undefined>>,
  { force, wait, note }: RestoreOptions,
): Promise<Renewed> =>
  workOnDatabase(env, note, ({ pool, connection }) =>
    renewEpoch({ pool, random: (size) => randomBytes(size), wait, migrate: () => migrate(connection) }, { force }),
  );
