// Defines how the process's log serializes errors: type, message, code and stack. Other fields are left out: errors of
// parsers also contain the bytes that could not be parsed, which are part of a caller's data.
export const logSerializers = { err: (error: unknown): unknown => loggedError(error, 0) };

// The number of causes is limited, because an error may be its own cause.
const causesMax = 5;

function loggedError(error: unknown, depth: number): unknown {
  if (!(error instanceof Error)) return typeof error === 'object' ? { type: typeof error } : error;
  const code = 'code' in error && (typeof error.code === 'string' || typeof error.code === 'number') ? { code: error.code } : {};
  const cause = error.cause === undefined || depth >= causesMax ? {} : { cause: loggedError(error.cause, depth + 1) };
  return { type: error.name, message: error.message, ...code, stack: error.stack, ...cause };
}
