// A migrated database of its own for a test file, cloned from the run's template (postgres.ts).
import { randomBytes } from 'node:crypto';
import { Client, type ClientConfig, Pool, type PoolConfig } from 'pg';
import { inject } from 'vitest';

export type ServerAddress = Pick<PoolConfig, 'host' | 'port' | 'user' | 'password' | 'database' | 'ssl'>;

declare module 'vitest' {
  interface ProvidedContext {
    testServer: { readonly address: ServerAddress; readonly template: string };
  }
}

export interface TestDatabase {
  readonly connection: PoolConfig;
  readonly pool: Pool;
  /** Throws when a client is still connected, that is, when the test left something open. */
  readonly close: () => Promise<void>;
}

export async function createTestDatabase(): Promise<TestDatabase> {
  const { address, template } = inject('testServer');
  const database = `tollgate_test_${randomBytes(6).toString('hex')}`;
  await withClient(address, (client) => client.query(`CREATE DATABASE ${database} TEMPLATE ${template} STRATEGY FILE_COPY`));
  // Several files share the server's 50 connections.
  const connection = { ...address, database, max: 5 };
  const pool = new Pool(connection);
  const close = async () => {
    await pool.end();
    await withClient(address, (client) => dropDatabase(client, database));
  };
  return { connection, pool, close };
}

async function dropDatabase(client: Client, database: string): Promise<void> {
  // PostgreSQL waits five seconds for connections that are being closed.
  await client.query(`DROP DATABASE ${database}`).catch(async (cause: unknown) => {
    const { rows } = await client.query('SELECT application_name, state, query FROM pg_stat_activity WHERE datname = $1', [database]);
    await client.query(`DROP DATABASE ${database} WITH (FORCE)`);
    throw new Error(`The test left connections to its database open: ${JSON.stringify(rows)}`, { cause });
  });
}

export async function withClient<T>(connection: ClientConfig, use: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(connection);
  // A server that is killed ends idle connections too. The next query reports it.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
