// What the operator's commands share that work on the database itself, where no control plane need run: it is found as `tollgate start`
// finds it, and left when the work is done.
import { resolve } from 'node:path';
import { programVariables, readConfig } from '@tollgate/proto/contract';
import type pg from 'pg';
import { configSchema } from './config.ts';
import { connectDatabase } from './connect-database.ts';
import { reasonOf } from './loggable.ts';
import { hasEmbedded } from './store/embedded/start.ts';
import { createPool } from './store/pool.ts';
import { type Undo, undoAll } from './undo.ts';

interface Refused {
  readonly kind: 'refused';
  /** Why nothing was done. */
  readonly reason: string;
}

const refused = (reason: string): Refused => ({ kind: 'refused', reason });

interface Database {
  readonly pool: pg.Pool;
  readonly connection: pg.PoolConfig;
}

/** Refused also where the configuration is wrong, or the database cannot be reached. `note`: what is worth a line beside the answer. */
export async function workOnDatabase<T>(
  env: Readonly<Record<string, string | undefined>>,
  note: (line: string) => void,
  work: (database: Database) => Promise<T>,
): Promise<T | Refused> {
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
