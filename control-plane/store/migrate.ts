// Brings a database to the schema of this version: migrations/*.sql, in the order of their
// numbers, in one transaction. Quiet. When two processes migrate at once, the second waits and
// finds nothing left to do. The version before serves on meanwhile, and may start again on the
// newer schema. Called at start-up and by the tests.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { runner } from 'node-pg-migrate';
import { Client, type PoolConfig } from 'pg';

/** From the package's root, since dist/ holds no SQL. */
const folder = () => join(createRequire(import.meta.url).resolve('@tollgate/control-plane/package.json'), '../store/migrations');

const lockNotAvailable = '55P03';
/**
 * A change of a table waits for those who read it, as a backup does, and all others wait behind it: it gives way before their own
 * patience (pool.ts) ends.
 */
const lockMs = 700;
const againMs = 1_000;
/** Some minutes, as an update may take. */
const triesMax = 150;
/** The runner's own, so that versions without this constant wait for it too; the session that holds it already is given it again. */
const lockValue = 7_241_865_325_823_964;

export async function migrate(connection: PoolConfig, signal?: AbortSignal): Promise<void> {
  const client = new Client(connection);
  await client.connect();
  try {
    // However long another process takes: what is bounded is how long the tables are waited for.
    await client.query('select pg_advisory_lock($1)', [lockValue]);
    await client.query(`set lock_timeout = ${lockMs}`);
    for (let tries = 1; (await run(client)) === 'in use'; tries += 1) {
      if (tries === triesMax)
        throw new Error(`The database could not be migrated: ${triesMax} times somebody held a table for ${lockMs} ms.`);
      await delay(againMs, undefined, { signal });
    }
  } finally {
    await client.end();
  }
}

async function run(client: Client): Promise<'done' | 'in use'> {
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
