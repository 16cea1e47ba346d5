// Which failures of PostgreSQL mean "not now": the same request may succeed later without a change.
import pg from 'pg';

/** By SQLSTATE, or its first characters for a whole class: it serves nobody now. */
const awayStates = ['08', '57P', '53', '58', '25006'];
/** It serves others, and this one was in their way, or they in its. */
const crossedStates = ['40001', '40P01', '55P03', '57014'];
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

/** By SQLSTATE: what answers, and takes nothing. */
const words: Readonly<Record<string, string>> = {
  '53100': 'the database has no room left on its disk',
  '25006': 'the database only reads, and takes nothing in',
};

/** Of what is unavailable, for whoever asked. */
export const unavailableWords = (reason: unknown): string =>
  (reason instanceof pg.DatabaseError ? words[reason.code ?? ''] : undefined) ?? 'the database cannot be reached';

export const isUnavailable = (reason: unknown): boolean => meets(reason, [...awayStates, ...crossedStates]);

/** Whoever asks now is told the same, whatever they ask. */
export const isAway = (reason: unknown): boolean => meets(reason, awayStates);

function meets(reason: unknown, states: readonly string[]): boolean {
  if (!(reason instanceof Error)) return false;
  if (reason instanceof AggregateError) return reason.errors.some((one) => meets(one, states));
  const code = 'code' in reason && typeof reason.code === 'string' ? reason.code : '';
  if (reason instanceof pg.DatabaseError) return [code, code.slice(0, 3), code.slice(0, 2)].some((state) => states.includes(state));
  return networkCodes.has(code) || sayings.test(reason.message);
}
