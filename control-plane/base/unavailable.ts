// Determines which failures of PostgreSQL are temporary: the same request can succeed later without a change.
import pg from 'pg';

/**
 * SQLSTATE codes, or the first characters of a whole class of codes. With these codes, the database serves no client at
 * this time.
 */
const awayStates = ['08', '57P', '53', '58', '25006'];
/** SQLSTATE codes of a transaction that was in conflict with another one. The database still serves other clients. */
const lockTimeout = '55P03';
const crossedStates = ['40001', '40P01', lockTimeout, '57014'];
const networkCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'EPIPE',
  // The queue of a Unix socket is full, because the server does not accept connections.
  'EAGAIN',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EACCES',
]);
/** Messages of pg that have no code. */
const sayings =
  /^(?:timeout expired|timeout exceeded when trying to connect|Query read timeout|Connection terminated|Client has encountered a connection error|Client was closed)/;

/** Messages by SQLSTATE, for a database that answers but accepts no writes. */
const words: Readonly<Record<string, string>> = {
  '53100': 'the disk of the database is full',
  '25006': 'the database is read-only',
};

/** Returns the message for the caller about an unavailable database. */
export const unavailableWords = (reason: unknown): string =>
  (reason instanceof pg.DatabaseError ? words[reason.code ?? ''] : undefined) ?? 'the database cannot be reached';

export const isUnavailable = (reason: unknown): boolean => meets(reason, [...awayStates, ...crossedStates]);

/** Returns whether every other request would fail now in the same way. */
export const isAway = (reason: unknown): boolean => meets(reason, awayStates);

/** Returns whether every other request that needs the same lock would fail now in the same way. */
export const isBlocked = (reason: unknown): boolean => meets(reason, [...awayStates, lockTimeout]);

function meets(reason: unknown, states: readonly string[]): boolean {
  if (!(reason instanceof Error)) return false;
  if (reason instanceof AggregateError) return reason.errors.some((one) => meets(one, states));
  const code = 'code' in reason && typeof reason.code === 'string' ? reason.code : '';
  if (reason instanceof pg.DatabaseError) return [code, code.slice(0, 3), code.slice(0, 2)].some((state) => states.includes(state));
  return networkCodes.has(code) || sayings.test(reason.message);
}
