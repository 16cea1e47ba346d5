// Shared code of the operator's commands that work directly on the database, without a running control plane. It finds
// the database in the same way as `tollgate-control-plane start` and disconnects when the work is done.
import { resolve } from 'node:path';
import { programVariables, readConfig } from '@tollgate/proto/contract';
import type pg from 'pg';
import { configSchema } from './config.ts';
import { connectDatabase } from './connect-database.ts';
import { reasonOf } from '../base/loggable.ts';
import { hasEmbedded } from '../database/embedded/start.ts';
import { createPool } from '../database/pool.ts';
import { type Undo, undoAll } from '../base/undo.ts';

interface DatabaseRefusal {
  readonly kind: 'refused';
  /** The reason why nothing was done. */
  readonly reason: string;
}

const refused = (reason: string): DatabaseRefusal => ({ kind: 'refused', reason });

interface Database {
  readonly pool: pg.Pool;
  readonly connection: pg.PoolConfig;
}

/**
 * Runs `work` on the database. The result is also a refusal if the configuration is wrong or the database cannot be
 * reached. `note` receives additional lines for the user.
 */
export async function workOnDatabase<T>(
  env: Readonly<Record<string, string | undefined>>,
  note: (line: string) => void,
  work: (database: Database) => Promise<T>,
): Promise<T | DatabaseRefusal> {
  const read = readConfig(configSchema, env, programVariables);
  if ('problems' in read) return refused(read.problems.join('; '));
  const undo: Undo = [];
  const warn = (_: object, message: string): void => note(message);
  try {
    const { databaseUrl, dataDir } = read.config;
    if (databaseUrl === null && !(await hasEmbedded(dataDir)))
      return refused(`there is no database in ${resolve(dataDir)}: set DATABASE_URL, or TOLLGATE_DATA_DIR`);
    const connection = await connectDatabase(read.config, { undo, log: note });
    const pool = createPool(connection, { warn });
    undo.push(() => pool.end());
    return await work({ pool, connection });
  } catch (error) {
    return refused(`the database could not be used: ${reasonOf(error)}`);
  } finally {
    await undoAll(undo, { error: warn });
  }
}
