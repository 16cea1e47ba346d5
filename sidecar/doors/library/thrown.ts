// Handles an exception of a tool if the policy redacts. The exception is converted to data that can be redacted.
// Reading an exception may run its own code, so the caller receives only a new error with the redacted message.
import { canonicalJson } from '@tollgate/proto/contract';
import { plainData } from '../../engine/govern/plain-data.ts';

// Limits for nested errors: the depth of `cause` and `errors`, and the number of `errors`.
const depthMax = 4;
const errorsMax = 20;

/** Returns the content of an exception as plain data. For an error: its name, message, fields, cause and errors. */
export function thrownData(thrown: unknown): unknown {
  try {
    const data = carried(thrown, 0);
    // Throws if the content as a whole exceeds the limits of a payload. Then only the message is returned.
    canonicalJson(data);
    return data;
  } catch {
    return { message: messageOf(thrown) };
  }
}

/** Returns the error for the caller. `data` is the redacted result of `thrownData`. */
export function errorFrom(data: unknown): Error {
  const message: unknown = typeof data === 'object' && data !== null && 'message' in data ? data.message : data;
  return new Error(typeof message === 'string' ? message : canonicalJson(message));
}

function carried(thrown: unknown, depth: number): unknown {
  if (!(thrown instanceof Error)) return readable(thrown) ?? null;
  const fields = Object.entries(thrown).flatMap(([key, value]) => {
    const data = key === 'cause' || key === 'errors' ? undefined : readable(value);
    return data === undefined ? [] : [[key, data] as const];
  });
  const inner = depth < depthMax ? innerErrors(thrown, depth + 1) : {};
  return { ...Object.fromEntries(fields), name: readable(thrown.name), message: readable(thrown.message), ...inner };
}

function innerErrors(error: Error, depth: number): object {
  const cause: unknown = error.cause;
  const errors: unknown = 'errors' in error ? error.errors : undefined;
  return {
    ...(cause === undefined ? {} : { cause: carried(cause, depth) }),
    ...(Array.isArray(errors) ? { errors: errors.slice(0, errorsMax).map((one: unknown) => carried(one, depth)) } : {}),
  };
}

/**
 * Returns the value as plain data. Undefined: it cannot be read, for example a request that is attached to an error.
 */
function readable(value: unknown): unknown {
  try {
    const { value: data } = plainData(value);
    canonicalJson(data);
    return data;
  } catch {
    return undefined;
  }
}

/** Returns the message of an exception, not redacted. */
export function messageOf(thrown: unknown): string {
  try {
    const message: unknown = thrown instanceof Error ? thrown.message : thrown;
    return String(message);
  } catch {
    return 'the tool failed';
  }
}
