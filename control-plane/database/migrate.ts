// Migrates a database to the schema of this version: migrations/*.sql, in the order of their numbers, in one
// transaction, without log output. If two processes migrate at the same time, the second waits and finds nothing to do.
// Processes of the previous version keep running during the migration, and can start again on the newer schema. It is
// called at start-up and by the tests.
import { readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, type PoolConfig } from 'pg';

/** Returns the folder of the migrations. It is resolved from the package's root, because dist/ contains no SQL. */
const folder = () => join(createRequire(import.meta.url).resolve('@tollgate/control-plane/package.json'), '../database/migrations');

const lockNotAvailable = '55P03';
/**
 * The maximum time that a schema change waits for a table. It waits for readers of the table, such as a backup, and all
 * other queries wait behind it. Therefore it stops waiting before the timeout of those queries (`pool.ts`) ends.
 */
const lockMs = 700;
const againMs = 1_000;
/** The maximum number of tries. They take some minutes, which is enough for the time of an update. */
const triesMax = 150;
/**
 * The lock number that the migration runner uses by default. Versions without this constant therefore wait for the same
 * lock. The runner can take the lock again, because its session already has it.
 */
export const lockValue = 7_241_865_325_823_964;

export async function migrate(connection: PoolConfig, signal?: AbortSignal): Promise<void> {
  const client = new Client(connection);
  // If the connection ends, the pending query is rejected, and the client also emits an error event. Without a listener,
  // this event would end the process.
  client.on('error', () => {});
  await client.connect();
  try {
    // The wait for another process has no limit. Only the wait for the tables is limited.
    await client.query('select pg_advisory_lock($1)', [lockValue]);
    await client.query(`set lock_timeout = ${lockMs}`);
    for (let tries = 1; (await run(client)) === 'in use'; tries += 1) {
      if (tries === triesMax)
        throw new Error(
          `The database could not be migrated: each of ${triesMax} attempts waited more than ${lockMs} ms for a table that another transaction had locked.`,
        );
      await delay(againMs, undefined, { signal });
    }
  } finally {
    await client.end();
  }
}

/**
 * Returns whether the database has every migration of this version, in their order. It may have later ones. The runner
 * is then not loaded, because it takes memory and a tenth of a second.
 */
async function hasAll(client: Client): Promise<boolean> {
  const { rows: tables } = await client.query("select 1 from pg_tables where schemaname = 'public' and tablename = 'migrations'");
  if (tables.length === 0) return false;
  const { rows } = await client.query<{ name: string }>('select name from public.migrations order by run_on, id');
  const files = (await readdir(folder())).filter((file) => file.endsWith('.sql')).toSorted();
  return files.every((file, at) => rows[at]?.name === file.slice(0, -'.sql'.length));
}

async function run(client: Client): Promise<'done' | 'in use'> {
  if (await hasAll(client)) return 'done';
  const { runner } = await import('node-pg-migrate');
  const complaints: string[] = [];
  const logger = { info: () => {}, warn: () => {}, error: (line: string) => complaints.push(line) };
  const options = { dir: folder(), direction: 'up', migrationsTable: 'migrations', ignorePattern: '(?!.*\\.sql$).*' } as const;
  try {
    await runner({ ...options, dbClient: client, lockValue, advisoryLockMode: 'wait', singleTransaction: true, logger });
    return 'done';
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === lockNotAvailable) return 'in use';
    throw new Error(`The database could not be migrated. ${complaints.join('\n') || String(cause)}`, { cause });
  }
}
