import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isJson, type Leaf, rewriteStrings } from '../../../../sidecar/engine/redact/json.ts';

const root = { name: '', path: () => '' };
const rewritten = (text: string, rewrite: (leaf: Leaf) => string): string => rewriteStrings(text, root, rewrite);

function leaves(text: string): readonly (readonly [string, string, string, boolean])[] {
  const seen: (readonly [string, string, string, boolean])[] = [];
  rewritten(text, (leaf) => {
    seen.push([leaf.path(), leaf.name, leaf.text, leaf.isKey]);
    return leaf.text;
  });
  return seen;
}

describe('a JSON text', () => {
  test('without rewrites stays unchanged, byte for byte', () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom(undefined, 1, '\t'), (json, indent) => {
        const text = JSON.stringify(JSON.parse(json), null, indent);
        expect(rewritten(text, ({ text: same }) => same)).toBe(text);
      }),
    );
  });

  test('has each string and number visited once, decoded, with its key and its path', () => {
    expect(leaves(' {"a b":["x", -1.5e+300 , true,null,{"c":"\\u0041\\n\\""}],"n":123456789012345678901} ')).toEqual([
      ['', '', 'a b', true],
      ['["a b"][0]', 'a b', 'x', false],
      ['["a b"][1]', 'a b', '-1.5e+300', false],
      ['["a b"][4]', '', 'c', true],
      ['["a b"][4].c', 'c', 'A\n"', false],
      ['', '', 'n', true],
      ['n', 'n', '123456789012345678901', false],
    ]);
  });

  test('names a value after an adjacent member where an object does so', () => {
    expect(leaves('[{"name":"DB_PASSWORD","value":"x"},{"value":"y"}]').filter(([, , , isKey]) => !isKey)).toEqual([
      ['[0].name', 'name', 'DB_PASSWORD', false],
      ['[0].value', 'DB_PASSWORD', 'x', false],
      ['[1].value', 'value', 'y', false],
    ]);
  });

  test('changes only what is rewritten: blanks, order and long numbers stay', () => {
    const text = '{ "b" : 1e400,\n "a":"old" , "old":[ 12345678901234567890 ] }';
    expect(rewritten(text, ({ text: leaf }) => (leaf === 'old' ? 'a "new"' : leaf))).toBe(
      '{ "b" : 1e400,\n "a":"a \\"new\\"" , "a \\"new\\"":[ 12345678901234567890 ] }',
    );
  });

  test('keeps its structure whatever its strings become', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), fc.string(), (value, by) => {
        const text = JSON.stringify(value);
        const shape = (of: unknown): unknown =>
          Array.isArray(of)
            ? of.map(shape)
            : typeof of === 'object' && of !== null
              ? Object.values(of).map(shape)
              : typeof of === 'boolean'
                ? of
                : null;
        const parsed: unknown = JSON.parse(rewritten(text, (leaf) => (leaf.isKey ? leaf.text : by)));
        expect(shape(parsed)).toEqual(shape(JSON.parse(text)));
      }),
    );
  });
});

test('keeps the number of its keys even if they are rewritten alike', () => {
  const text = '{"x":1,"y":2,"[redacted:email#1]":3,"[redacted:email#1]#2":4}';
  const once = rewritten(text, ({ text: leaf }) => (leaf === 'x' || leaf === 'y' ? '[redacted:email#1]' : leaf));
  expect(Object.values(JSON.parse(once))).toEqual([1, 2, 3, 4]);
});

test('a text is parsed as JSON where it is an object, a list or a string', () => {
  expect(['{"a":1}', ' [1]', '"x"', '1', 'true', '{a:1}', '{"a":1}x', '', ' ', 'text'].map(isJson)).toEqual([
    true,
    true,
    true,
    ...Array.from({ length: 7 }, () => false),
  ]);
});
