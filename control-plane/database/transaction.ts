// Runs SQL. All functions in store/ take a `Queryable` as the first parameter. Operations decide which calls share one
// transaction.
import { AppError } from '@tollgate/proto/contract';
import pg from 'pg';

export type Queryable = Pick<pg.Pool, 'query'> | Pick<pg.PoolClient, 'query'>;

/**
 * `patient` is for background work, which may wait long for locks. A slow query of this kind must be made with
 * `patientQuery`.
 */
type Kind = 'write' | 'read' | 'patient';

export const beginRead = 'begin isolation level repeatable read, read only';
const begin: Readonly<Record<Kind, string>> = {
  write: 'begin',
  read: beginRead,
  patient: 'begin; set local lock_timeout = 15000',
};
export const patienceMs = 20_000;

/** Rolls back a patient transaction, which releases all its locks, and begins a new one on the same connection. */
export const startOver = async (client: pg.PoolClient): Promise<void> => void (await client.query(`rollback; ${begin.patient}`));

/** A query that can take longer than the pool allows. pg reads `query_timeout`, but its types do not declare it. */
export function patientQuery(text: string, values: readonly unknown[], queryTimeoutMs = patienceMs): pg.QueryConfig {
  const config = { text, values: [...values], query_timeout: queryTimeoutMs };
  return config;
}

/**
 * A patient query of a hot path: each connection parses and plans it once, under this name. A name must always have the
 * same text.
 */
export const preparedQuery = (name: string, text: string, values: readonly unknown[]): pg.QueryConfig => ({
  ...patientQuery(text, values),
  name,
});

/** Wraps `client`: all its queries can take longer than the pool allows. */
export const patiently = (client: pg.PoolClient): Queryable => {
  const query = (text: string, values: readonly unknown[] = []) => client.query(patientQuery(text, values));
  return { query } as unknown as Queryable;
};

/** Commits the work of `run` if `kept` returns true for its result. Otherwise rolls it back. */
export async function inTransaction<T>(
  pool: pg.Pool,
  run: (client: pg.PoolClient) => Promise<T>,
  kind: Kind = 'write',
  kept: (result: T) => boolean = () => true,
): Promise<T> {
  const client = await pool.connect();
  // A connection that breaks between two queries emits an error event. The event is ignored, because the next query
  // fails and reports the error.
  client.on('error', ignore);
  try {
    await client.query(begin[kind]);
    const result = await run(client);
    await client.query(kept(result) ? 'commit' : 'rollback');
    release(client, false);
    return result;
  } catch (reason) {
    await abandon(client, reason);
    throw reason;
  }
}

/** Rolls back if the connection still answers. Otherwise closes the connection, and the server rolls back. */
async function abandon(client: pg.PoolClient, reason: unknown): Promise<void> {
  const answers = reason instanceof AppError || reason instanceof pg.DatabaseError;
  const rolledBack =
    answers &&
    (await client.query('rollback').then(
      () => true,
      () => false,
    ));
  release(client, !rolledBack);
}

function release(client: pg.PoolClient, destroy: boolean): void {
  client.off('error', ignore);
  client.release(destroy);
}

function ignore(): void {}
