// The pool of connections. Its waits add up to less than two seconds for a request, so that a database that is down,
// frozen or locked is answered with 503 in time.
import pg from 'pg';

interface PoolLog {
  warn(fields: object, message: string): void;
}

const connectTimeoutMs = 700;
const queryTimeoutMs = 1200;

export const poolMax = {
  /** For who must not wait: authentication, writes, short reads. */
  standard: 20,
  /** For reads that may be slow, apart, so that however many there are the others go on. */
  reading: 6,
} as const;

/** `log` hears of connections that broke while idle. */
export function createPool(connection: pg.PoolConfig, log: PoolLog, max: number = poolMax.standard): pg.Pool {
  const pool = new pg.Pool({
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: queryTimeoutMs,
    statement_timeout: 30_000,
    lock_timeout: queryTimeoutMs,
    idle_in_transaction_session_timeout: 10_000,
    keepAlive: true,
    max,
    ...connection,
  });
  // One that is ended in the moment of its making says so before anybody who asked for it can listen, and its next query fails.
  pool.on('connect', (client) => void client.on('error', () => undefined));
  // Its message only: the error drags the whole client along, credentials and all.
  pool.on('error', (error) => log.warn({ reason: error.message }, 'an idle connection to PostgreSQL broke'));
  return pool;
}
