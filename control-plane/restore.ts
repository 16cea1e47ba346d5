// `tollgate restore`: what is to be done to a database that was put back from a backup, before sidecars decide by it. It finds the
// database as `tollgate start` does.
import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { programVariables, readConfig } from '@tollgate/proto/contract';
import { configSchema } from './config.ts';
import { connectDatabase } from './connect-database.ts';
import { reasonOf } from './loggable.ts';
import { type Renewed, renewEpoch } from './operations/deployment/renew-epoch.ts';
import { migrate } from './store/migrate.ts';
import { hasEmbedded } from './store/embedded/start.ts';
import { createPool } from './store/pool.ts';
import { type Undo, undoAll } from './undo.ts';

export type { Renewed };

interface RestoreOptions {
  readonly force: boolean;
  readonly wait: (ms: number) => Promise<unknown>;
  /** What is worth a line beside the answer. */
  readonly note: (line: string) => void;
}

/** Refused also where the configuration is wrong, or the database cannot be reached. */
export async function restoreDatabase(
  env: Readonly<Record<string, string | undefined>>,
  { force, wait, note }: RestoreOptions,
): Promise<Renewed> {
  const read = readConfig(configSchema, env, programVariables);
  if ('problems' in read) return { kind: 'refused', reason: read.problems.join('; ') };
  const undo: Undo = [];
  const warn = (_: object, message: string): void => note(message);
  try {
    const { databaseUrl, dataDir } = read.config;
    if (databaseUrl === null && !(await hasEmbedded(dataDir)))
      return { kind: 'refused', reason: `there is no database in ${resolve(dataDir)}: set DATABASE_URL, or TOLLGATE_DATA_DIR` };
    const connection = await connectDatabase(read.config, { undo, log: note });
    const pool = createPool(connection, { warn });
    undo.push(() => pool.end());
    return await renewEpoch({ pool, random: (size) => randomBytes(size), wait, migrate: () => migrate(connection) }, { force });
  } catch (error) {
    return { kind: 'refused', reason: `the database could not be used: ${reasonOf(error)}` };
  } finally {
    await undoAll(undo, { error: warn });
  }
}
