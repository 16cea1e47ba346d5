// Brings a database to the schema of this version: migrations/*.sql, in the order of their
// numbers, in one transaction. Quiet. When two processes migrate at once, the second waits and
// finds nothing left to do. Called at start-up and by the tests.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { runner } from 'node-pg-migrate';
import { Client, type PoolConfig } from 'pg';

/** From the package's root, since dist/ holds no SQL. */
const folder = () => join(createRequire(import.meta.url).resolve('@tollgate/control-plane/package.json'), '../store/migrations');

export async function migrate(connection: PoolConfig): Promise<void> {
  const client = new Client(connection);
  const complaints: string[] = [];
  const logger = { info: () => {}, warn: () => {}, error: (line: string) => complaints.push(line) };
  await client.connect();
  try {
    const options = { dir: folder(), direction: 'up', migrationsTable: 'migrations', ignorePattern: '(?!.*\\.sql$).*' } as const;
    await runner({ ...options, dbClient: client, advisoryLockMode: 'wait', singleTransaction: true, logger });
  } catch (cause) {
    throw new Error(`The database could not be migrated. ${complaints.join('\n') || String(cause)}`, { cause });
  } finally {
    await client.end();
  }
}
