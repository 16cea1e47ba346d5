/** What a log may have of whatever was thrown: PostgreSQL's errors also carry rows, and pg's the whole client. */
export function loggable(reason: unknown): object {
  if (!(reason instanceof Error)) return { reason: typeof reason };
  const code = 'code' in reason && typeof reason.code === 'string' ? { code: reason.code } : {};
  return { reason: reason.message, ...code, stack: reason.stack, ...(reason.cause === undefined ? {} : { cause: loggable(reason.cause) }) };
}

/** What went wrong, in its own words alone. */
export const reasonOf = (reason: unknown): string => (reason instanceof Error ? reason.message : String(reason));
