// What a tool threw, where policy redacts: a value that can be redacted, and the only thing of it that its caller gets, a
// new error with what became of its message. Reading it may run code of its own; nothing of that reaches the caller.
import { canonicalJson } from '@tollgate/proto/contract';
import { plainData } from '../../govern/plain-data.ts';

// `cause` of a `cause`, and `errors` beside it.
const depthMax = 4;
const errorsMax = 20;

/** What it carries, as plain data: of an error its name, message, fields, cause and errors. */
export function thrownData(thrown: unknown): unknown {
  try {
    const data = carried(thrown, 0);
    // All of it together may be more than a payload may be.
    canonicalJson(data);
    return data;
  } catch {
    return { message: messageOf(thrown) };
  }
}

/** The error for its caller; `data` is what became of what `thrownData` made. */
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

/** As plain data; undefined for what cannot be read, such as a request that an error drags along. */
function readable(value: unknown): unknown {
  try {
    const { value: data } = plainData(value);
    canonicalJson(data);
    return data;
  } catch {
    return undefined;
  }
}

/** Its words as they are: where policy only logs. */
export function messageOf(thrown: unknown): string {
  try {
    const message: unknown = thrown instanceof Error ? thrown.message : thrown;
    return String(message);
  } catch {
    return 'the tool failed';
  }
}
