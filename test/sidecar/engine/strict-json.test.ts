// What the doors read as JSON, and what they refuse to read.
import { canonicalJson } from '@tollgate/proto/contract';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { InexactNumber, parseStrict, parseStrictText } from '../../../sidecar/engine/json/strict-json.ts';
import { workOn } from '../../support/work-on.ts';
import { longTokens } from '../doors/long-tokens.ts';

const read = (text: string): ReturnType<typeof parseStrict> => parseStrict(Buffer.from(text));
const problemOf = (text: string | Uint8Array): string => {
  const result = typeof text === 'string' ? read(text) : parseStrict(text);
  return 'problem' in result ? result.problem : `accepted ${JSON.stringify(result.value)}`;
};

test('a raw half of a surrogate pair is rejected too, with its place, and a whole pair is not', () => {
  expect(parseStrictText('{"a":"x","b":"\ud83d"}')).toEqual({ problem: 'holds half of a surrogate pair (at position 13)' });
  expect(parseStrictText('["\ude00\ud83d"]')).toEqual({ problem: 'holds half of a surrogate pair (at position 1)' });
  expect(parseStrictText('{"😀":"😀"}')).toEqual({ value: { '😀': '😀' } });
});

test('any JSON value is read unchanged', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      const text = canonicalJson(value);
      const result = read(text);
      // A generated value that contains a half surrogate pair is rejected.
      if ('problem' in result) expect(result.problem).toMatch(/surrogate/);
      else expect(canonicalJson(result.value)).toBe(text);
    }),
  );
});

test('blanks around and between change nothing', () => {
  expect(read(' \n{ "a" : [ 1 , "b" , null , true ] ,\t"c" : { } }\r\n')).toEqual({ value: { a: [1, 'b', null, true], c: {} } });
});

test('a key `__proto__` is an ordinary key', () => {
  const result = read('{"__proto__":{"a":1}}');
  expect('value' in result ? Object.getOwnPropertyNames(result.value) : result).toEqual(['__proto__']);
});

describe('rejected, by place and without any of the text there', () => {
  test.each([
    ['a key that is twice in an object', '{"a":1,"secret":2,"a":3}', 'names a key twice (at position 18)'],
    ['a key that is twice once its escapes are read', String.raw`{"method":1,"m\u0065thod":2}`, 'names a key twice (at position 12)'],
    ['a key that is twice, deep inside', '[{"a":{"b":[{"c":1,"c":1}]}}]', 'names a key twice (at position 19)'],
    ['`__proto__` twice', '{"__proto__":1,"__proto__":2}', 'names a key twice (at position 15)'],
    ['a second value behind the first', '{"a":1}{"a":2}', 'is not one JSON value (at position 7)'],
    ['text behind the value', '{"a":1} secret', 'is not one JSON value (at position 8)'],
    ['a NUL behind the value', '{"a":1}\0', 'is not one JSON value (at position 7)'],
    ['nothing', '', 'is not one JSON value'],
    ['a comment', '{"a":1/**/}', 'is not one JSON value (at position 6)'],
    ['a trailing comma', '{"a":1,}', 'is not one JSON value (at position 7)'],
    ['single quotes', "{'a':1}", 'is not one JSON value (at position 1)'],
    ['NaN', '{"a":NaN}', 'is not one JSON value'],
    ['a control character in a string', '"a\u0001b"', 'is not one JSON value (at position 2)'],
    ['half of a surrogate pair', String.raw`{"a":"\ud83d"}`, 'holds half of a surrogate pair (at position 5)'],
    ['half of a surrogate pair in a key', String.raw`{"\udc00":1}`, 'holds half of a surrogate pair (at position 1)'],
  ])('%s', (_what, text, problem) => {
    expect(problemOf(text)).toContain(problem);
    expect(problemOf(text)).not.toContain('secret');
  });

  test('bytes that are not UTF-8', () => {
    expect(problemOf(Uint8Array.of(0x22, 0xff, 0x22))).toBe('is not UTF-8');
    // "/" in two bytes.
    expect(problemOf(Uint8Array.of(0x22, 0xc0, 0xaf, 0x22))).toBe('is not UTF-8');
    expect(problemOf(Buffer.from('"ä"', 'latin1'))).toBe('is not UTF-8');
    expect(problemOf(Buffer.from('{"a":1}', 'utf16le'))).toMatch(/is not (?:UTF-8|one JSON value)/);
  });

  test('a byte order mark', () => {
    expect(problemOf('\uFEFF{}')).toContain('byte order mark');
  });
});

test.each([
  ['9007199254740993', false],
  ['-9007199254740993', false],
  ['9007199254740992', true],
  ['12345678901234567890', false],
  ['1e400', false],
  ['1e-400', false],
  ['0.1', true],
  ['0.10', true],
  ['1.0', true],
  ['1.50E+1', true],
  ['-0', true],
  ['0e999999', true],
  ['1e21', true],
  ['100000000000000000000000', true],
  ['0.1000000000000000055', false],
  ['5e-324', true],
  ['3e-324', false],
  ['1.7976931348623157e308', true],
])('%s is a number that a double holds as written: %s', (number, holds) => {
  expect('value' in read(`[${number}]`)).toBe(holds);
});

test('numbers beyond a double pass where the caller allows it', () => {
  expect(parseStrictText('[12345678901234567890]', { exactNumbers: false })).toHaveProperty('value');
});

test('numbers that a double would round keep their spelling where the caller allows it, and everything else is unchanged', () => {
  // Integers around 2^53 and far beyond, and texts that look like them.
  const integer = fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n });
  const near = fc.bigInt({ min: -(2n ** 54n), max: 2n ** 54n });
  const leaf = fc.oneof(integer, near, fc.string({ unit: 'grapheme' }), near.map(String), fc.boolean());
  const tree = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small' },
      leaf,
      fc.array(tie('tree')),
      fc.dictionary(fc.string({ unit: 'grapheme' }), tie('tree'), { noNullPrototype: true }),
    ),
  })).tree;
  const written = (value: unknown): string => {
    if (typeof value === 'bigint') return String(value);
    if (Array.isArray(value)) return `[${value.map(written).join(' , ')}]`;
    if (typeof value !== 'object' || value === null) return JSON.stringify(value);
    return `{${Object.entries(value)
      .map(([key, one]) => `${JSON.stringify(key)}: ${written(one)}`)
      .join(',')}}`;
  };
  /** Returns the value that a reader gets from the digits of the double. */
  const shownBy = (value: bigint): bigint => {
    const [mantissa = '', exponent = '0'] = String(Number(value)).split('e');
    const [whole = '', fraction = ''] = mantissa.split('.');
    return BigInt(whole + fraction) * 10n ** BigInt(Number(exponent) - fraction.length);
  };
  const isRounded = (value: bigint): boolean => shownBy(value) !== value;
  const wanted = (value: unknown): unknown => {
    if (typeof value === 'bigint') return isRounded(value) ? new InexactNumber(String(value)) : Number(value);
    if (Array.isArray(value)) return value.map(wanted);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, wanted(one)]));
  };
  const holdsInexact = (value: unknown): boolean =>
    typeof value === 'bigint' ? isRounded(value) : typeof value === 'object' && value !== null && Object.values(value).some(holdsInexact);
  fc.assert(
    fc.property(tree, (value) => {
      expect(parseStrictText(written(value), { keepsInexact: true })).toStrictEqual({
        value: wanted(value),
        ...(holdsInexact(value) ? { hasInexactNumbers: true } : {}),
      });
    }),
  );
});

test('a text is never taken for a number that a double would round', () => {
  for (const text of ['\u{10000}1', '\u{103FF}12345678901234567890', '12345678901234567890'])
    expect(parseStrictText(`[${JSON.stringify(text)}, 12345678901234567890]`, { keepsInexact: true })).toMatchObject({
      value: [text, { spelling: '12345678901234567890' }],
    });
  for (const half of ['\\udc00', '\udc00'])
    expect(parseStrictText(`["${half}1", 12345678901234567890]`, { keepsInexact: true })).toHaveProperty('problem');
});

test('a text with too many values is rejected before it is parsed', () => {
  const parsing = vi.spyOn(JSON, 'parse');
  onTestFinished(() => parsing.mockRestore());
  const said = { problem: 'has more than 1000 values' };
  for (const text of [`[${'{},'.repeat(1_000)}0]`, `[${'[[[[]]]],'.repeat(251)}0]`, `{"a":[${'0,'.repeat(1_000)}0]}`])
    expect(parseStrictText(text, { nodes: 1_000 })).toEqual(said);
  expect(parsing).not.toHaveBeenCalled();
  // It is not rejected for characters in strings, and not one value too early.
  for (const text of [`["${'[,{'.repeat(1_000)}\\"${','.repeat(2_000)}"]`, `[${'0,'.repeat(998)}0]`])
    expect(parseStrictText(text, { nodes: 1_000 })).toHaveProperty('value');
});

test('64 levels are read and 65 are not', () => {
  expect('value' in read('['.repeat(64) + ']'.repeat(64))).toBe(true);
  expect(problemOf('['.repeat(65) + ']'.repeat(65))).toBe('is nested deeper than 64');
  expect(problemOf('{"a":'.repeat(65) + '1' + '}'.repeat(65))).toBe('is nested deeper than 64');
  expect(problemOf('['.repeat(400_000) + ']'.repeat(400_000))).toBe('is nested deeper than 64');
});

test('100,000 values are read and one more is not', () => {
  expect('value' in read(`[${Array(99_999).fill('1').join(',')}]`)).toBe(true);
  expect(problemOf(`[${Array(100_000).fill('1').join(',')}]`)).toBe('has more than 100000 values');
});

test.each(longTokens)('the work to read %s is linear in their number', (_what, make) => {
  const work = (length: number): number => workOn(() => parseStrictText(make(length)));
  expect(work(20_000)).toBeGreaterThan(20_000);
  expect(work(40_000)).toBeLessThan(work(20_000) * 2.1);
});
