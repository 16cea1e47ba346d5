// Finds names that a tool's input schema does not have. Where a schema does not say, it has every name.
import { describe, expect, test } from 'vitest';
import { missingName } from '../../control-plane/policies/rules/schema-path.ts';

const node = { type: 'object', properties: { value: { type: 'number' }, next: { $ref: '#/$defs/node' } } };
const closed = { type: 'object', properties: { a: { type: 'string' } } };

describe('a schema has', () => {
  test.each<readonly [what: string, schema: object, path: readonly (string | null)[]]>([
    ['what it lists', closed, ['a']],
    ['everything where it lists nothing', { type: 'object' }, ['x', 'y']],
    ['everything where it permits more', { ...closed, additionalProperties: true }, ['x']],
    ['everything where names have a pattern', { ...closed, patternProperties: { '^x': {} } }, ['x']],
    ['fields of a map', { type: 'object', additionalProperties: closed }, ['any', 'a']],
    ['what one of its alternatives lists', { oneOf: [closed, { type: 'object', properties: { b: {} } }] }, ['b']],
    ['what a condition adds', { ...closed, then: { properties: { b: {} } } }, ['b']],
    ['what a reference leads to', { $ref: '#/$defs/node', $defs: { node } }, ['next', 'next', 'next', 'value']],
    ['everything behind a reference to elsewhere', { properties: { a: { $ref: 'https://x.test/schema' } } }, ['a', 'b']],
    ['everything behind a reference to nothing', { properties: { a: { $ref: '#/$defs/none' } } }, ['a', 'b']],
    ['everything behind true', { properties: { a: true } }, ['a', 'b']],
    ['elements of a tuple', { properties: { a: { prefixItems: [closed, { properties: { b: {} } }] } } }, ['a', null, 'b']],
    ['everything in a list without items', { properties: { a: { type: 'array' } } }, ['a', null, 'b']],
    ['fields of a text, which it does not describe', { properties: { a: { type: 'string' } } }, ['a', 'b']],
  ])('%s', (_what, schema, path) => {
    expect(missingName({ ...schema }, path)).toBeNull();
  });
});

test.each<readonly [what: string, schema: object, path: readonly (string | null)[], missing: readonly unknown[], known: readonly string[]]>(
  [
    ['a name', closed, ['x', 'y'], ['x'], ['a']],
    ['a name of the prototype', closed, ['constructor'], ['constructor'], ['a']],
    ['any name where none is permitted', { type: 'object', additionalProperties: false }, ['x'], ['x'], []],
    ['a name in all alternatives', { anyOf: [closed, { properties: { b: {} } }] }, ['c'], ['c'], ['a', 'b']],
    ['a name behind a reference to itself', { $ref: '#/$defs/node', $defs: { node } }, ['next', 'x'], ['next', 'x'], ['next', 'value']],
    ['a name in an element', { properties: { a: { items: closed } } }, ['a', null, 'x'], ['a', null, 'x'], ['a']],
    [
      'a name behind an escaped reference',
      { properties: { a: { $ref: '#/$defs/x~1y' } }, $defs: { 'x/y': closed } },
      ['a', 'x'],
      ['a', 'x'],
      ['a'],
    ],
  ],
)('a schema does not have %s', (_what, schema, path, missing, known) => {
  expect(missingName({ ...schema }, path)).toEqual({ path: missing, known });
});

test('a schema that refers to itself alone, or is very deep, ends', () => {
  expect(missingName({ $ref: '#' }, ['a'])).toBeNull();
  const many = { anyOf: Array.from({ length: 5_000 }, (_, at) => ({ properties: { [`p${at}`]: {} } })) };
  expect(missingName(many, ['x'])).toBeNull();
});
