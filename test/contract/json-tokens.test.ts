// Where tokens of JSON texts end, of any text too, and how many values a text may hold.
import { countValues, excessIn, scalarEnd, skipBlanks, stringEnd } from '@tollgate/proto/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { workOn } from '../support/work-on.ts';

function tokensOf(text: string): readonly string[] {
  const tokens: string[] = [];
  for (let at = skipBlanks(text, 0); at < text.length; ) {
    const end = text[at] === '"' ? stringEnd(text, at) : '{}[]:,'.includes(text.charAt(at)) ? at + 1 : scalarEnd(text, at);
    tokens.push(text.slice(at, end));
    at = skipBlanks(text, end);
  }
  return tokens;
}

test('the tokens of a JSON text are what JSON.stringify writes without blanks', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(0, 1, '\t', '\n\r'), (value, indent) => {
      const compact = JSON.stringify(value);
      const tokens = tokensOf(` ${JSON.stringify(value, null, indent)}\n`);
      expect(tokens.join('')).toBe(compact);
      expect(tokens.filter((token) => token.startsWith('"')).every((token) => typeof JSON.parse(token) === 'string')).toBe(true);
    }),
  );
});

test('a string ends where JSON.parse ends it, whatever is escaped', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('"', '\\', 'a', '\u0001', 'é', '😀') }), fc.string(), (value, after) => {
      const written = JSON.stringify(value);
      expect(stringEnd(`[${written}${after}`, 1)).toBe(1 + written.length);
    }),
  );
});

// As the four readers said that had a tokenizer each.
test.each([
  ['"a"', 3],
  ['""', 2],
  [String.raw`"\""`, 4],
  [String.raw`"\\"x"`, 4],
  [String.raw`"\\\""x`, 6],
  [String.raw`"a\u0022b"`, 10],
  ['"abc', -1],
  [String.raw`"abc\"`, -1],
  ['"', -1],
])('the string that opens %s ends at %i', (text, end) => {
  expect(stringEnd(text, 0)).toBe(end);
});

test.each([
  ['1', 1],
  ['-1.5e+300 ,', 9],
  ['true]', 4],
  ['null}', 4],
  ['12,3', 2],
  ['1\t', 1],
  ['1:2', 3],
])('the number or word that begins %j ends at %i', (text, end) => {
  expect(scalarEnd(text, 0)).toBe(end);
});

test('a text is counted as its values are', () => {
  const nodesOf = (value: unknown): number =>
    1 + (typeof value === 'object' && value !== null ? Object.values(value).reduce((sum: number, one) => sum + nodesOf(one), 0) : 0);
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(30), (value, nodes) => {
      const text = JSON.stringify(value);
      if (excessIn(text, { depth: 64, nodes }) !== null) expect(nodesOf(value)).toBeGreaterThan(nodes);
      expect(countValues(Buffer.from(text))).toBeGreaterThanOrEqual(nodesOf(value));
    }),
  );
});

test.each([
  ['[[[[[]]]]]', { depth: 4, nodes: 5 }, 'is nested deeper than 4'],
  ['[[[[[]]]]]', { depth: 5, nodes: 5 }, null],
  ['[1,2,3,4,5,6]', { depth: 4, nodes: 5 }, 'has more than 5 values'],
  ['["1,2,3,4,5,6"]', { depth: 4, nodes: 5 }, null],
  [String.raw`["\",[,{,[,[,["]`, { depth: 4, nodes: 5 }, null],
  // Not JSON: what follows an open string is part of it, and brackets count without their pair.
  ['"[[[[[[[[,,,,,,,', { depth: 1, nodes: 1 }, null],
  ['}}}}[[[[[,', { depth: 1, nodes: 4 }, 'has more than 4 values'],
  ['],],],],]', { depth: 1, nodes: 4 }, 'has more than 4 values'],
])('the excess of %s by %j is: %s', (text, most, excess) => {
  expect(excessIn(text, most)).toBe(excess);
});

test.each([
  ['backslashes', (length: number) => `"${'\\\\'.repeat(length)}"`],
  ['escaped quotes', (length: number) => `"${'\\"'.repeat(length)}"`],
  ['backslashes without an end', (length: number) => `"${'\\\\'.repeat(length)}\\"`],
])('the work to end a string of %s is linear in their number', (_what, make) => {
  const work = (length: number): number => workOn(() => stringEnd(make(length), 0));
  expect(work(20_000)).toBeLessThan(work(10_000) * 2.1);
});
