// Requests generated from the API document: valid ones of a client that has read it, and invalid ones.
import fc from 'fast-check';
import type { ApiOperation, Schema } from './api-document.ts';

export interface GeneratedRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: no body. A string is sent as it is. */
  readonly body: unknown;
}

export interface Names {
  /** Values that exist, or might exist, for a variable of a path. */
  readonly path: Readonly<Record<string, readonly string[]>>;
  /** The same for a property of a body or a parameter of a query. */
  readonly properties: Readonly<Record<string, readonly unknown[]>>;
  /** The document's schemas, by name. */
  readonly components: Readonly<Record<string, Schema>>;
}

const depthMax = 6;

/** Values that a schema allows; where it has no constraint, any JSON. */
export function valueOf(schema: Schema, names: Names, depth = 0): fc.Arbitrary<unknown> {
  const inner = (one: unknown): fc.Arbitrary<unknown> => valueOf((one ?? {}) as Schema, names, depth + 1);
  if (typeof schema['$ref'] === 'string') return valueOf(names.components[schema['$ref'].split('/').at(-1) ?? ''] ?? {}, names, depth);
  if ('const' in schema) return fc.constant(schema['const']);
  if (Array.isArray(schema['enum'])) return fc.constantFrom(...(schema['enum'] as readonly unknown[]));
  const choices = schema['anyOf'] ?? schema['oneOf'];
  if (Array.isArray(choices)) return fc.oneof(...choices.map(inner));
  const types = [schema['type']].flat();
  if (types.length > 1) return fc.oneof(...types.map((type) => valueOf({ ...schema, type }, names, depth)));
  switch (types[0]) {
    case 'string':
      return text(schema);
    case 'integer':
    case 'number':
      return fc.integer({ min: Number(schema['minimum'] ?? -5), max: Number(schema['maximum'] ?? 1_000_000) });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fc.array(inner(schema['items']), { minLength: Number(schema['minItems'] ?? 0), maxLength: 3 });
    case 'object':
      return object(schema, names, inner, depth);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

const instants = fc.constantFrom('2026-06-25T11:00:00Z', '2030-01-01T00:00:00.000Z', '2026-06-25', 'yesterday');
const awkwardTexts = ['', '__proto__', 'constructor', '\u0000', '😀', '\ud800', 'a'.repeat(201), "'; drop table agent; --", '../..', '%2F'];
const awkward = fc.constantFrom(...awkwardTexts);

function text(schema: Schema): fc.Arbitrary<string> {
  if (schema['format'] === 'date-time' || String(schema['description']).includes('ISO 8601')) return instants;
  if (String(schema['description']).includes('::'))
    return fc.constantFrom('hook::api::triage', 'hook::api::', 'a::b', 'x::interactive::%2F');
  const plain = fc.stringMatching(/^[a-z][a-z0-9._-]{0,12}$/);
  return fc.oneof({ arbitrary: plain, weight: 6 }, { arbitrary: awkward, weight: 1 });
}

function object(schema: Schema, names: Names, inner: (one: unknown) => fc.Arbitrary<unknown>, depth: number): fc.Arbitrary<unknown> {
  const properties = Object.entries((schema['properties'] ?? {}) as Readonly<Record<string, unknown>>);
  const required = (schema['required'] ?? []) as readonly string[];
  const deep = depth >= depthMax;
  const valued = (key: string, one: unknown): fc.Arbitrary<unknown> => {
    const likely = names.properties[key];
    return likely === undefined
      ? inner(one)
      : fc.oneof({ arbitrary: fc.constantFrom(...likely), weight: 3 }, { arbitrary: inner(one), weight: 1 });
  };
  const shown = properties.filter(([key]) => !deep || required.includes(key));
  const known = fc.record(Object.fromEntries(shown.map(([key, one]) => [key, valued(key, one)])), { requiredKeys: [...required] });
  const free = schema['additionalProperties'];
  if (typeof free !== 'object' || deep) return known;
  const keys = text((schema['propertyNames'] ?? { type: 'string' }) as Schema);
  return fc.tuple(known, fc.dictionary(keys, inner(free), { maxKeys: 3 })).map(([a, b]) => ({ ...b, ...a }));
}

/** Two thirds are valid by the document, one third is not. */
export function requestOf(operation: ApiOperation, names: Names): fc.Arbitrary<GeneratedRequest> {
  const { parameters, path, body } = operation;
  const inPath = fc.record(
    Object.fromEntries(
      parameters
        .filter((one) => one.in === 'path')
        .map(({ name }) => {
          const good = fc.constantFrom(...(names.path[name] ?? ['x']));
          return [name, name === 'workspace' ? good : fc.oneof({ arbitrary: good, weight: 5 }, { arbitrary: awkward, weight: 1 })];
        }),
    ),
  );
  const inQueryAll = parameters.filter((one) => one.in === 'query');
  // Few at once, so that an invalid one does not always hide a valid one.
  const inQuery = fc
    .subarray(inQueryAll, { maxLength: Math.min(2, inQueryAll.length) })
    .chain((some) => fc.record(Object.fromEntries(some.map(({ name, schema }) => [name, queryValue(name, schema)]))));
  const queryValue = (name: string, schema: Schema): fc.Arbitrary<unknown> =>
    fc.oneof(
      { arbitrary: fc.constantFrom(...(names.properties[name] ?? ['5'])), weight: 3 },
      { arbitrary: valueOf(schema, names), weight: 1 },
      { arbitrary: fc.constantFrom('0x10', '1e3', '-1'), weight: 1 },
    );
  const repeated = fc.boolean();
  const junk = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.constantFrom<unknown>(
      '{',
      '',
      'null',
      '[]',
      '"x"',
      '{"a":1,}',
      '{"__proto__":{}}',
      `{"a":"\\ud800"}`,
      '\ufeff{}',
      `${'['.repeat(5000)}${']'.repeat(5000)}`,
    ),
  );
  const sent: fc.Arbitrary<unknown> =
    body === null ? fc.constant(undefined) : fc.oneof({ arbitrary: valueOf(body, names), weight: 2 }, { arbitrary: junk, weight: 1 });
  const condition = parameters.some((one) => one.in === 'header' && one.name === 'if-match')
    ? fc.oneof(
        { arbitrary: fc.constant<string | null>(null), weight: 6 },
        { arbitrary: fc.constantFrom<string | null>('"0"', '"999999"', 'x', '*'), weight: 1 },
      )
    : fc.constant(null);

  return fc.record({ inPath, inQuery, sent, condition, repeated }).map((made) => {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(made.inQuery)) query.append(name, String(value));
    const first = Object.keys(made.inQuery)[0];
    if (made.repeated && first !== undefined && query.size > 1) query.append(first, 'again');
    const at = path.replaceAll(/\{([^}]+)\}/g, (_whole, name: string) =>
      encode(String(Object.entries(made.inPath).find(([key]) => key === name)?.[1])),
    );
    return {
      url: `${at}${query.size > 0 ? `?${query.toString()}` : ''}`,
      headers: {
        ...(body === null ? {} : { 'content-type': 'application/json' }),
        ...(made.condition === null ? {} : { 'if-match': made.condition }),
      },
      body: made.sent,
    };
  });
}

/**
 * Each variable of a path with each awkward text, while everything else is valid: chance alone would produce too few of
 * them.
 */
export function awkwardUrlsOf({ parameters, path }: ApiOperation, names: Names): readonly string[] {
  const variables = parameters.filter((one) => one.in === 'path').map(({ name }) => name);
  const filled = (awkwardOne: string, text: string): string =>
    path.replaceAll(/\{([^}]+)\}/g, (_whole, name: string) => encode(name === awkwardOne ? text : (names.path[name]?.[0] ?? 'x')));
  return variables.flatMap((name) => awkwardTexts.map((text) => filled(name, text)));
}

/** A lone surrogate has no encoding. */
const encode = (value: string): string => encodeURIComponent(value.replaceAll(/\p{Cs}/gu, '\ufffd'));
