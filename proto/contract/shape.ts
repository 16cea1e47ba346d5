// Defines once which values are permitted. A shape checks a value, names every problem with its place, and provides the
// JSON Schema for the API document. Shapes have their own entry point, `@tollgate/proto/shape`. A sidecar does not load
// this entry point, because the values that it receives were checked before. TypeBox schemas and Ajv are not used for
// two reasons. Most checks here are functions (names, patterns, addresses). And the command line and
// `sidecar/engine/compile` load neither library.
import { bounds } from './bounds.ts';
import { childPath, keyedPath } from './path.ts';

export interface Problem {
  readonly path: string;
  readonly message: string;
}

/** The result of a check of external input. */
export type Checked<T> = { readonly value: T } | { readonly problems: readonly Problem[] };

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface Shape {
  readonly check: (value: unknown, path: string) => readonly Problem[];
  readonly schema: JsonSchema;
}

export const problem = (path: string, message: string): readonly Problem[] => [{ path, message }];

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const described = (description: string, { check, schema }: Shape): Shape => ({ check, schema: { ...schema, description } });

export const oneOf = (...values: readonly unknown[]): Shape => ({
  check: (value, path) => (values.includes(value) ? [] : problem(path, `must be ${values.map((one) => JSON.stringify(one)).join(' or ')}`)),
  schema: { enum: values },
});

export const integer = (min: number, max: number): Shape => ({
  check: (value, path) =>
    Number.isInteger(value) && Number(value) >= min && Number(value) <= max
      ? []
      : problem(path, `must be an integer from ${min} to ${max}`),
  schema: { type: 'integer', minimum: min, maximum: max },
});

/** Returns the shape of an object with only these fields, all optional. */
export const fields = (shapes: Readonly<Record<string, Shape>>): Shape => ({
  check: (value, path) => {
    if (!isObject(value)) return problem(path, 'must be an object');
    const unknown = `is not a field here; the fields are ${Object.keys(shapes).join(', ')}`;
    return Object.entries(value).flatMap(([key, child]) => {
      const shape = Object.hasOwn(shapes, key) ? shapes[key] : undefined;
      return shape === undefined ? problem(childPath(path, key), unknown) : shape.check(child, childPath(path, key));
    });
  },
  schema: {
    type: 'object',
    properties: Object.fromEntries(Object.entries(shapes).map(([key, { schema }]) => [key, schema])),
    additionalProperties: false,
  },
});

interface Keys {
  readonly problem: (key: string) => string | null;
  readonly schema: JsonSchema;
  readonly max: number;
  /** Writes the path of a child as `path["key"]`, even if the key looks like a field. */
  readonly inBrackets?: true;
}

/** Returns the shape of an object with arbitrary keys. */
export const entries = (keys: Keys, shape: Shape): Shape => ({
  check: (value, path) => {
    if (!isObject(value)) return problem(path, 'must be an object');
    const all = Object.entries(value);
    if (all.length > keys.max) return problem(path, `must have at most ${keys.max} keys, has ${all.length}`);
    return all.flatMap(([key, child]) => {
      const wrong = keys.problem(key);
      if (wrong !== null) return problem(keyedPath(path, key), wrong);
      return shape.check(child, keys.inBrackets === true ? keyedPath(path, key) : childPath(path, key));
    });
  },
  schema: { type: 'object', maxProperties: keys.max, propertyNames: keys.schema, additionalProperties: shape.schema },
});

/** Returns the shape of a string of at most `max` characters. `say` returns the problem with a string, or null. */
export const text = (max: number, say: (value: string) => string | null): Shape => ({
  check: (value, path) => {
    const wrong =
      typeof value !== 'string'
        ? 'must be a string'
        : value.length > max
          ? `must be at most ${max} characters, is ${value.length}`
          : say(value);
    return wrong === null ? [] : problem(path, wrong);
  },
  schema: { type: 'string', maxLength: max },
});

export const list = (max: number, item: Shape): Shape => ({
  check: (value, path) => {
    if (!Array.isArray(value)) return problem(path, 'must be an array');
    if (value.length > max) return problem(path, `must have at most ${max} items, has ${value.length}`);
    return value.flatMap((one, at) => item.check(one, `${path}[${at}]`));
  },
  schema: { type: 'array', maxItems: max, items: item.schema },
});

/** Returns the shape of an object with only these fields. The `required` fields must be present. */
export const record = (shapes: Readonly<Record<string, Shape>>, required: readonly string[]): Shape => ({
  check: (value, path) => {
    if (!isObject(value)) return problem(path === '' ? 'body' : path, 'must be an object');
    const unknown = `is not a field here; the fields are ${Object.keys(shapes).join(', ')}`;
    const missing = required.filter((key) => !Object.hasOwn(value, key)).flatMap((key) => problem(childPath(path, key), 'is required'));
    const given = Object.entries(value).flatMap(([key, child]) => {
      const at = childPath(path, key.slice(0, bounds.nameLength));
      const shape = Object.hasOwn(shapes, key) ? shapes[key] : undefined;
      return shape?.check(child, at) ?? problem(at, unknown);
    });
    return [...missing, ...given];
  },
  schema: {
    type: 'object',
    required,
    properties: Object.fromEntries(Object.entries(shapes).map(([key, { schema }]) => [key, schema])),
    additionalProperties: false,
  },
});

/**
 * Returns a shape for values that can have one of several shapes. For each value, `choose` returns the shape that
 * applies.
 */
export const either = (choose: (value: unknown) => Shape, ...all: readonly Shape[]): Shape => ({
  check: (value, path) => choose(value).check(value, path),
  schema: { anyOf: all.map(({ schema }) => schema) },
});
