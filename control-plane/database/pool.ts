// The pool of connections. The timeouts of one request add up to less than two seconds, so that a request is answered
// with 503 in time if the database is down, frozen or locked.
import pg from 'pg';

interface PoolLog {
  warn(fields: object, message: string): void;
}

const connectTimeoutMs = 700;
const queryTimeoutMs = 1200;

export const poolMax = {
  /** For work that must not wait: authentication, writes, short reads. */
  standard: 20,
  /** For reads that can be slow. It is a separate pool, so that slow reads do not block other work. */
  reading: 6,
  /** For the jobs that send messages. One of them listens. It is opened when there is a channel. */
  jobs: 3,
} as const;

/** `log` receives connections that broke while idle. */
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
  // If a connection is closed while it is created, it emits an error before its user can listen. The error is ignored,
  // because the next query on the connection fails anyway.
  pool.on('connect', (client) => void client.on('error', () => undefined));
  // Logs only the message, because the error contains the whole client with its credentials.
  pool.on('error', (error) => log.warn({ reason: error.message }, 'an idle connection to PostgreSQL broke'));
  return pool;
}
