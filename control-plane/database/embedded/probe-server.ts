// Checks on the socket whether PostgreSQL answers, and creates our database if it is missing. Called by
// `postmaster.ts`.
import { Client } from 'pg';
import { errorCode } from './error-code.ts';
import { databaseName } from './settings.ts';

/** `ssl: false` prevents a PGSSLMODE in the environment from applying to this server, which has no TLS. */
export interface Connection {
  /** The socket's folder. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  readonly ssl: false;
}

/** SQLSTATEs of a server that is starting, recovering or stopping, or has no free connection at the moment. */
const busyStates = new Set(['57P01', '57P02', '57P03', '53300']);

export async function probeServer(connection: Connection): Promise<'answering' | 'busy' | 'absent'> {
  const client = new Client({ ...connection, database: 'postgres', connectionTimeoutMillis: 5_000 });
  // If the server dies while a call is awaited, the call is rejected, and the client also emits an error event. Without
  // a listener, this event would end our process.
  client.on('error', () => {});
  try {
    await client.connect();
    await ensureDatabase(client);
    return 'answering';
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ENOENT' || code === 'ECONNREFUSED') return 'absent';
    // An error of pg without a code means that the connection ended or timed out.
    if (code === undefined || code === 'ECONNRESET' || code === 'EPIPE' || busyStates.has(code)) return 'busy';
    throw error;
  } finally {
    await client.end().catch(() => {});
  }
}

async function ensureDatabase(client: Client): Promise<void> {
  const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [databaseName]);
  if (rowCount === 0) await client.query(`CREATE DATABASE ${databaseName}`);
}
