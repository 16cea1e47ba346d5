// Handles an exception of a tool if the policy redacts. The exception is converted to data that can be redacted. The
// caller receives only a new error with the redacted message. Reading an exception may run its own code, but no result
// of that code reaches the caller.
import { canonicalJson } from '@tollgate/proto/contract';
import { plainData } from '../../engine/govern/plain-data.ts';

// Limits the nesting of `cause` and `errors`.
const depthMax = 4;
const errorsMax = 20;

/** The content as plain data. For an error: its name, message, fields, cause and errors. */
export function thrownData(thrown: unknown): unknown {
  try {
    const data = carried(thrown, 0);
    // The whole content may exceed the limits of a payload.
    canonicalJson(data);
    return data;
  } catch {
    return { message: messageOf(thrown) };
  }
}

/** The error for the caller. `data` is the redacted result of `thrownData`. */
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

/** The value as plain data. Undefined: it cannot be read, such as a request attached to an error. */
function readable(value: unknown): unknown {
  try {
    const { value: data } = plainData(value);
    canonicalJson(data);
    return data;
  } catch {
    return undefined;
  }
}

/** The message unchanged, if the policy only logs. */
export function messageOf(thrown: unknown): string {
  try {
    const message: unknown = thrown instanceof Error ? thrown.message : thrown;
    return String(message);
  } catch {
    return 'the tool failed';
  }
}
