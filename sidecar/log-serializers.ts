// What the process's log says of things. Of an error it has type, message, code and stack: parsers' errors also carry the bytes that they
// could not read, which are somebody's answer.
export const logSerializers = { err: (error: unknown): unknown => loggedError(error, 0) };

// Causes of causes may be the error itself.
const causesMax = 5;

function loggedError(error: unknown, depth: number): unknown {
  if (!(error instanceof Error)) return typeof error === 'object' ? { type: typeof error } : error;
  const code = 'code' in error && (typeof error.code === 'string' || typeof error.code === 'number') ? { code: error.code } : {};
  const cause = error.cause === undefined || depth >= causesMax ? {} : { cause: loggedError(error.cause, depth + 1) };
  return { type: error.name, message: error.message, ...code, stack: error.stack, ...cause };
}
