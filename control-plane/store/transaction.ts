// Where SQL runs. Everything in store/ takes a `Queryable` first; operations decide what stands in one transaction.
import { AppError } from '@tollgate/proto/contract';
import pg from 'pg';

export type Queryable = Pick<pg.Pool, 'query'> | Pick<pg.PoolClient, 'query'>;

/** `patient`: for work that nobody looks at while it waits for locks; its slow queries are `patientQuery`s. */
type Kind = 'write' | 'read' | 'patient';

export const beginRead = 'begin isolation level repeatable read, read only';
const begin: Readonly<Record<Kind, string>> = {
  write: 'begin',
  read: beginRead,
  patient: 'begin; set local lock_timeout = 15000',
};
export const patienceMs = 20_000;

/** Lets go of all that a patient transaction has locked, and undoes what it did; it goes on as if it had just begun. */
export const startOver = async (client: pg.PoolClient): Promise<void> => void (await client.query(`rollback; ${begin.patient}`));

/** A query that may take longer than the pool allows. pg reads `query_timeout`; its types do not know it. */
export function patientQuery(text: string, values: readonly unknown[], queryTimeoutMs = patienceMs): pg.QueryConfig {
  const config = { text, values: [...values], query_timeout: queryTimeoutMs };
  return config;
}

/** `client`, all of whose queries may take longer than the pool allows. */
export const patiently = (client: pg.PoolClient): Queryable => {
  const query = (text: string, values: readonly unknown[] = []) => client.query(patientQuery(text, values));
  return { query } as unknown as Queryable;
};

/** What `run` did stays where `kept` says so of its result; otherwise it is as if it had not been. */
export async function inTransaction<T>(
  pool: pg.Pool,
  run: (client: pg.PoolClient) => Promise<T>,
  kind: Kind = 'write',
  kept: (result: T) => boolean = () => true,
): Promise<T> {
  const client = await pool.connect();
  // A connection that breaks between two queries says so by an event; the next query fails and is where we hear of it.
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

/** Rolls back where the connection still answers; otherwise closes it, and the server rolls back. */
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
