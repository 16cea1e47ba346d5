// Defines readers of untrusted JSON. Each returns the value with its type, or throws `InvalidEntry` with the place of
// the error.
import { childPath } from '@tollgate/proto/contract';

export class InvalidEntry extends Error {
  override readonly name = 'InvalidEntry';
}

export type Reader<T> = (value: unknown, path: string) => T;

/** An object whose own fields are read one by one. */
export interface Fields {
  read<T>(name: string, reader: Reader<T>): T;
  optional<T>(name: string, reader: Reader<T>): T | undefined;
  /** Throws if the object has a field that is not in `names`. */
  only(...names: readonly string[]): void;
}

const reject = (path: string, wanted: string): never => {
  throw new InvalidEntry(`${path}: must be ${wanted}`);
};

export function object(value: unknown, path: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return reject(path, 'an object');
  const own = new Map<string, unknown>(Object.entries(value));
  return {
    read: (name, reader) => reader(own.get(name), childPath(path, name)),
    optional: (name, reader) => (own.has(name) ? reader(own.get(name), childPath(path, name)) : undefined),
    only: (...names) => {
      for (const name of own.keys()) if (!names.includes(name)) reject(childPath(path, name), 'absent');
    },
  };
}

export const string: Reader<string> = (value, path) => (typeof value === 'string' ? value : reject(path, 'text'));

export const boolean: Reader<boolean> = (value, path) => (typeof value === 'boolean' ? value : reject(path, 'true or false'));

export const integer =
  (min: number, max: number): Reader<number> =>
  (value, path) =>
    typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max
      ? value
      : reject(path, `an integer from ${min} to ${max}`);

export const oneOf =
  <const T extends string>(...values: readonly T[]): Reader<T> =>
  (value, path) =>
    values.find((one) => one === value) ?? reject(path, values.join(' or '));

export const nullable =
  <T>(reader: Reader<T>): Reader<T | null> =>
  (value, path) =>
    value === null ? null : reader(value, path);

export const array =
  <T>(reader: Reader<T>): Reader<readonly T[]> =>
  (value, path) =>
    Array.isArray(value) ? value.map((item, at) => reader(item, `${path}[${at}]`)) : reject(path, 'a list');

export const pair =
  <A, B>(first: Reader<A>, second: Reader<B>): Reader<readonly [A, B]> =>
  (value, path) =>
    Array.isArray(value) && value.length === 2 ? [first(value[0], `${path}[0]`), second(value[1], `${path}[1]`)] : reject(path, 'a pair');

/**
 * Reads a list of pairs that begin with a name. Throws if a name appears twice, because it would be undefined which
 * pair is used.
 */
export const namedOnce =
  <T>(reader: Reader<readonly [string, T]>): Reader<readonly (readonly [string, T])[]> =>
  (value, path) => {
    const named = array(reader)(value, path);
    if (new Set(named.map(([name]) => name)).size < named.length) throw new InvalidEntry(`${path}: must not contain a name twice`);
    return named;
  };
