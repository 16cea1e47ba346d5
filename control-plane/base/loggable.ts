/**
 * Selects the parts of a thrown value that the log may contain. Errors of PostgreSQL also carry rows, and errors of pg
 * carry the whole client.
 */
export function loggable(reason: unknown): object {
  if (!(reason instanceof Error)) return { reason: typeof reason };
  const code = 'code' in reason && typeof reason.code === 'string' ? { code: reason.code } : {};
  return { reason: reason.message, ...code, stack: reason.stack, ...(reason.cause === undefined ? {} : { cause: loggable(reason.cause) }) };
}

/** Returns the message of the error only. */
export const reasonOf = (reason: unknown): string => (reason instanceof Error ? reason.message : String(reason));
