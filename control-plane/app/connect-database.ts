// Chooses the database of this program: the database that `DATABASE_URL` names, or the embedded one. The embedded
// database runs until `undo` stops it.
import { resolve } from 'node:path';
import type pg from 'pg';
import type { Config } from './config.ts';
import { startEmbedded } from '../database/embedded/start.ts';
import type { Undo } from '../base/undo.ts';

interface ConnectDeps {
  readonly undo: Undo;
  readonly log: (line: string) => void;
  readonly warn?: (line: string) => void;
  readonly signal?: AbortSignal;
}

export async function connectDatabase(
  { databaseUrl, dataDir }: Pick<Config, 'databaseUrl' | 'dataDir'>,
  { undo, log, warn, signal }: ConnectDeps,
): Promise<pg.PoolConfig> {
  if (databaseUrl !== null) return { connectionString: databaseUrl };
  const embedded = await startEmbedded({ dataDir: resolve(dataDir), log, warn, signal });
  undo.push(() => embedded.close());
  return embedded.connection;
}
