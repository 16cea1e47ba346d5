// Checks inputs against untrusted schemas.
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createArgumentsProblem } from '../../control-plane/runs/tools/arguments.ts';
import { createSchemaProblem } from '../../control-plane/runs/tools/schema-problem.ts';
import { createTimeBound } from '../../control-plane/runs/tools/time-bound.ts';
import { endless, objectSchema as object } from './endless-schemas.ts';

const problemOf = createArgumentsProblem(createSchemaProblem());

test('an input that fits the schema has no problem', () => {
  const schema = object({ path: { type: 'string' }, depth: { type: 'integer', minimum: 0 } }, { required: ['path'] });
  expect(problemOf(schema, { path: '/tmp', depth: 2, more: true })).toBeNull();
});

test.each<readonly [string, object, unknown, string]>([
  ['a missing field', object({ a: { type: 'string' } }, { required: ['a', 'b'] }), { a: 'x' }, 'b is required'],
  ['a wrong type', object({ a: { type: 'string' } }), { a: 1 }, 'a must be string'],
  [
    'a place inside',
    object({ a: { type: 'array', items: object({ b: { type: 'integer' } }) } }),
    { a: [{ b: 1 }, { b: 'x' }] },
    'a[1].b must be integer',
  ],
  ['a field too many', object({}, { additionalProperties: false }), { 'x y': 1 }, '["x y"] is not a field here'],
  ['a value of a list', object({ a: { enum: ['up', 'down'] } }), { a: 'left' }, 'a must be "up" or "down"'],
  ['two at once', object({ a: { type: 'string' }, b: { type: 'string' } }), { a: 1, b: 1 }, 'a must be string; b must be string'],
  ['a name that every object inherits', object({}, { required: ['constructor'] }), {}, 'constructor is required'],
])('the problem of %s is reported with its place', (_what, schema, input, words) => {
  expect(problemOf({ ...schema }, input)).toBe(words);
});

test.each([[null], [[]], ['{}'], [1], [undefined]])('%j is not an object', (input) => {
  expect(problemOf({ type: 'object' }, input)).toBe('the arguments must be a JSON object');
});

test('the description of a problem quotes no value that the model wrote, and is short', () => {
  const schema = object(Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`f${at}`, { type: 'integer', pattern: '^x$' }])));
  const words = problemOf(schema, Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`f${at}`, 'the-secret']))) ?? '';
  expect(words).not.toContain('the-secret');
  expect(words).toMatch(/; and \d+ more$/);
  expect(words.length).toBeLessThan(2_100);
});

describe('a compiled schema', () => {
  const schema = (n: number) => object({ a: { type: 'integer', maximum: n } });
  const counted = () => {
    let works = 0;
    const problem = createSchemaProblem((_ms, work) => {
      works += 1;
      return work();
    });
    return { problem, works: () => works };
  };

  test('is shared by all schemas with the same content', () => {
    const { problem, works } = counted();
    for (let run = 0; run < 5; run += 1) expect(problem(schema(1), { a: 2 }, 'it')).toBe('a must be <= 1');
    // One unit of work to compile, and one for each check.
    expect(works()).toBe(6);
  });

  test('is given up after it was late three times', () => {
    let late = true;
    const within = createTimeBound();
    const endless = (): never => {
      for (;;);
    };
    const problem = createSchemaProblem((_ms, work) => (late ? within(1, endless) : within(10_000, work)));
    for (let time = 0; time < 2; time += 1) expect(problem(schema(1), { a: 2 }, 'it')).toBeNull();
    late = false;
    expect(problem(schema(1), { a: 2 }, 'it')).toBe('a must be <= 1');
    late = true;
    expect(problem(schema(1), { a: 2 }, 'it')).toBeNull();
    late = false;
    expect(problem(schema(1), { a: 2 }, 'it')).toBeNull();
  });

  test('counts for more than its text: some 500 small ones are kept, the most recently used', () => {
    const { problem, works } = counted();
    for (let n = 0; n < 600; n += 1) problem(schema(n), { a: n }, 'it');
    const before = works();
    for (let n = 150; n < 600; n += 1) problem(schema(n), { a: n }, 'it');
    // No schema was compiled again.
    expect(works() - before).toBe(450);
    problem(schema(0), { a: 0 }, 'it');
    expect(works() - before).toBe(452);
  });

  test('is evicted where others are in use', () => {
    const { problem, works } = counted();
    const long = (n: number) => ({ ...schema(n), description: 'x'.repeat(160_000) });
    for (let n = 0; n < 200; n += 1) {
      problem(long(n), { a: n }, 'it');
      problem(long(0), { a: 0 }, 'it');
    }
    const before = works();
    problem(long(0), { a: 0 }, 'it');
    problem(long(1), { a: 1 }, 'it');
    expect(works() - before).toBe(3);
  });
});

describe('dialects', () => {
  const tuple = { type: 'array', items: [{ type: 'string' }, { type: 'integer' }] };
  const prefix = { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }] };

  test.each([
    ['2020-12 by name', object({ a: prefix }, { $schema: 'https://json-schema.org/draft/2020-12/schema' })],
    ['2020-12 by default', object({ a: prefix })],
    ['draft 7 by name', object({ a: tuple }, { $schema: 'http://json-schema.org/draft-07/schema#' })],
    ['draft 7 where it can only be that', object({ a: tuple })],
  ])('%s', (_what, schema) => {
    expect(problemOf(schema, { a: ['x', 1] })).toBeNull();
    expect(problemOf(schema, { a: ['x', 'y'] })).toBe('a[1] must be integer');
  });

  test('an unknown dialect is read as the newest', () => {
    expect(problemOf(object({ a: { type: 'string' } }, { $schema: 'https://example.test/mine' }), { a: 1 })).toBe('a must be string');
  });
});

describe('a hostile schema', () => {
  test.each<readonly [string, object]>([
    ['a reference to elsewhere', object({ a: { $ref: 'https://evil.test/schema.json' } })],
    ['a reference into a file', object({ a: { $ref: 'file:///etc/passwd' } })],
    ['a reference that is nowhere', object({ a: { $ref: '#/$defs/none' } })],
    ['a keyword with nonsense', object({ a: { minimum: 'many' } })],
    ['a type that is none', { type: 'strnig' }],
    ['a pattern that is none', object({ a: { pattern: '(' } })],
    ['more than is read', object({}, { description: 'x'.repeat(300_000) })],
  ])('%s: any object passes, and nothing else', (_what, schema) => {
    expect(problemOf({ ...schema }, { a: 'anything' })).toBeNull();
    expect(problemOf({ ...schema }, [])).toBe('the arguments must be a JSON object');
  });

  test('an asynchronous check does not count as passed', () => {
    expect(problemOf({ $async: true, ...object({ a: { type: 'string' } }) }, { a: 1 })).toBe('a must be string');
  });

  test('the names in one schema do not exist for another', () => {
    expect(problemOf({ $id: 'https://shared.test/s', ...object({ a: { type: 'string' } }) }, { a: 1 })).toBe('a must be string');
    expect(problemOf({ $id: 'https://shared.test/s', ...object({ a: { type: 'integer' } }) }, { a: 1 })).toBeNull();
    expect(problemOf(object({ b: { $ref: 'https://shared.test/s' } }), { b: { a: true } })).toBeNull();
  });

  test.each(endless)('%s is tried at most four times, for a quarter of a second each, and not for each run', (_what, schema, value) => {
    const bound = createTimeBound();
    const triedMs: number[] = [];
    const counted = createArgumentsProblem(
      createSchemaProblem((ms, work) => {
        triedMs.push(ms);
        return bound(ms, work);
      }),
    );
    // Each run has its own copy.
    for (let run = 0; run < 50; run += 1) expect(counted({ ...schema }, { a: value })).toBeNull();
    // Compiled once, and late three times.
    expect(triedMs.length).toBeGreaterThan(0);
    expect(triedMs.length).toBeLessThanOrEqual(4);
    expect(Math.max(...triedMs)).toBeLessThanOrEqual(250);
  });

  test('a schema with too many parts to compile accepts any object, and nothing is compiled', () => {
    const untimed = createSchemaProblem((_ms, work) => work());
    const compile = vi.spyOn(Ajv2020.prototype, 'compile');
    onTestFinished(() => compile.mockRestore());
    const fields = (count: number) => object(Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}`, { type: 'integer' }])));
    expect(untimed(fields(450), { f449: 'x' }, 'it')).toBe('f449 must be integer');
    const all = Array.from({ length: 4_000 }, (_, at) => ({ properties: { [`f${at}`]: { type: 'integer' } } }));
    expect(compile).toHaveBeenCalledTimes(1);
    expect(untimed(object({}, { allOf: all, unevaluatedProperties: false }), { f0: 'x' }, 'it')).toBeNull();
    expect(compile).toHaveBeenCalledTimes(1);
  });

  test('every schema gets an answer', () => {
    const keyword = fc.constantFrom(
      'type',
      '$ref',
      'allOf',
      'properties',
      'items',
      'pattern',
      'enum',
      'required',
      'if',
      'not',
      '$id',
      '$dynamicRef',
      'dependentSchemas',
      'discriminator',
      'nullable',
    );
    const schema = fc.dictionary(keyword, fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.dictionary(keyword, fc.jsonValue({ maxDepth: 1 }))));
    fc.assert(
      fc.property(schema, fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 })), (one, input) => {
        const words = problemOf({ ...one }, input);
        expect(words === null || words.length > 0).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});
