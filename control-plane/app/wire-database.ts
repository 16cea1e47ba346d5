// Prepares the database for all parts: connects to it, brings it to the schema of this version, and opens the pools and
// the watch on the audit log.
import type { Pool, PoolConfig } from 'pg';
import type { Logger } from 'pino';
import { type HeadWatch, watchHeads } from '../audit/store/watch-heads.ts';
import type { Undo } from '../base/undo.ts';
import { migrate } from '../database/migrate.ts';
import { createPool, poolMax } from '../database/pool.ts';
import type { Config } from './config.ts';
import { connectDatabase } from './connect-database.ts';

interface DatabaseDeps {
  readonly config: Pick<Config, 'databaseUrl' | 'dataDir'>;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

export interface Database {
  readonly connection: PoolConfig;
  readonly pool: Pool;
  /**
   * Connections for reads that can be slow. Slow reads never use the connections of `pool`, so these stay free for
   * everything else.
   */
  readonly readingPool: Pool;
  readonly heads: HeadWatch;
}

export async function wireDatabase({ config, log, signal }: DatabaseDeps, undo: Undo): Promise<Database> {
  const connection = await connectDatabase(config, { undo, log: (line) => log.info(line), warn: (line) => log.warn(line), signal });
  await migrate(connection, signal);
  const pool = createPool(connection, log);
  undo.push(() => pool.end());
  const readingPool = createPool(connection, log, poolMax.reading);
  undo.push(() => readingPool.end());
  const heads = watchHeads(pool);
  undo.push(() => heads.close());
  return { connection, pool, readingPool, heads };
}
