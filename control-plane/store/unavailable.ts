// Which failures of PostgreSQL mean "not now": the same request may succeed later without a change.
import pg from 'pg';

/** By SQLSTATE, or its first two characters for a whole class. */
const retryableStates = new Set(['08', '57P', '53', '40001', '40P01', '55P03', '57014', '58', '25006']);
const networkCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'EPIPE',
  // The queue of a Unix socket is full: nobody accepts.
  'EAGAIN',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EACCES',
]);
/** What pg says without a code. */
const sayings =
  /^(?:timeout expired|timeout exceeded when trying to connect|Query read timeout|Connection terminated|Client has encountered a connection error|Client was closed)/;

export function isUnavailable(reason: unknown): boolean {
  if (!(reason instanceof Error)) return false;
  if (reason instanceof AggregateError) return reason.errors.some(isUnavailable);
  const code = 'code' in reason && typeof reason.code === 'string' ? reason.code : '';
  if (reason instanceof pg.DatabaseError) return [code, code.slice(0, 3), code.slice(0, 2)].some((state) => retryableStates.has(state));
  return networkCodes.has(code) || sayings.test(reason.message);
}
