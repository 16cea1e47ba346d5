// Changes members of a JSON text in place.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { itemsAt, memberAt, membersAt, withMember, withoutMember } from '../../../../sidecar/upstream/wire/json-text.ts';

const spaced = (value: unknown, indent: number): string => JSON.stringify(value, null, indent);

test('every member is found at its position', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ maxDepth: 4 })), fc.constantFrom(0, 1, 3), (object, indent) => {
      const text = spaced(object, indent);
      const found = Object.fromEntries(
        [...membersAt(text, 0)].map(([key, { start, end }]) => [key, JSON.parse(text.slice(start, end)) as unknown]),
      );
      expect(found).toEqual(JSON.parse(text));
    }),
  );
});

test('every item is found at its position', () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue({ maxDepth: 4 })), fc.constantFrom(0, 2), (list, indent) => {
      const text = spaced(list, indent);
      expect(itemsAt(text, 0).map(({ start, end }) => JSON.parse(text.slice(start, end)) as unknown)).toEqual(JSON.parse(text));
    }),
  );
});

test('a member that is set is there afterwards, and nothing else has changed', () => {
  fc.assert(
    fc.property(
      // There is no key that is a single backslash: after reading one, `JSON.parse` of Node 24.9 returns it for the key
      // `"`.
      fc.dictionary(fc.constantFrom('a', 'b', '"', 'c\\', '{'), fc.jsonValue({ maxDepth: 3 })),
      fc.jsonValue(),
      (object, value) => {
        const text = spaced({ in: object }, 1);
        const set = JSON.parse(withMember(text, ['in', 'a'], JSON.stringify(value))) as unknown;
        expect(set).toEqual(JSON.parse(JSON.stringify({ in: { ...object, a: value } })));
        const { a: _, ...others } = object;
        expect(JSON.parse(withoutMember(text, ['in', 'a']))).toEqual(JSON.parse(JSON.stringify({ in: others })));
      },
    ),
  );
});

test('where no object can hold it nothing is set', () => {
  for (const text of ['{"a":1}', '{"a":[]}', '{}', '[]', '"a"']) expect(withMember(text, ['a', 'b'], '1')).toBe(text);
  expect(memberAt('{"a":{"b":1}}', ['a', 'c'])).toBeNull();
});
