// The pool of connections. Its waits add up to less than two seconds for a request, so that a database that is down,
// frozen or locked is answered with 503 in time.
import pg from 'pg';

interface PoolLog {
  warn(fields: object, message: string): void;
}

const connectTimeoutMs = 1000;
const queryTimeoutMs = 1500;

/** `log` hears of connections that broke while idle. */
export function createPool(connection: pg.PoolConfig, log: PoolLog, max = 20): pg.Pool {
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
  pool.on('error', (error) => log.warn({ err: error }, 'an idle connection to PostgreSQL broke'));
  return pool;
}
