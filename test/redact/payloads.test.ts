// Checks that payloads are the same for the same parameters, that their values have right checksums, and that the scorer
// of `sizes` counts what is left of them line by line.
import { expect, test } from 'vitest';
import { createRandom } from '../chaos/kills/random.ts';
import { type LineKind, lineMakers } from './payload-lines.ts';
import { createValues, ibanOf, withLuhn } from './payload-values.ts';
import { linesOfPayload, makeLines, type Payload, payloadText } from './payloads.ts';
import { compareLines, readSizeRow, scoreSize } from './sizes.ts';

const payload: Payload = { make: 'access_log', shape: 'text', lines: 40, seed: 7, every: 4, distinct: 0 };
const valuesIn = (of: Payload): readonly string[] => makeLines(of).flatMap((line) => line.filter((_, at) => at % 2 === 1));

test('the same parameters make the same payload, and another seed has other values', () => {
  expect(makeLines(payload)).toEqual(makeLines({ ...payload }));
  const other = new Set(valuesIn({ ...payload, seed: 8 }));
  expect(valuesIn(payload).filter((value) => other.has(value))).toEqual([]);
});

test('every fourth line has a value, no more of them differ than were asked for, and 0 means none', () => {
  expect(valuesIn(payload)).toHaveLength(10);
  expect(new Set(valuesIn({ ...payload, lines: 400, distinct: 3 })).size).toBe(3);
  expect(valuesIn({ ...payload, every: 0 })).toEqual([]);
});

test('check digits are those of the published examples', () => {
  expect(withLuhn('411111111111111')).toBe('4111111111111111');
  expect(ibanOf('DE', '370400440532013000')).toBe('DE89370400440532013000');
});

test('a value is made from the random numbers that are passed in', () => {
  expect(createValues(createRandom(3), 0)('email')).toBe(createValues(createRandom(3), 0)('email'));
});

test.each(Object.keys(lineMakers).filter(isLineKind))('%s can be read back in its shape, line by line', (make) => {
  const { secret, isJson } = lineMakers[make];
  for (const shape of isJson === true ? (['list'] as const) : (['text', 'result'] as const)) {
    const lines = makeLines({ make, shape, lines: 12, seed: 5, every: secret === undefined ? 0 : 2, distinct: 0 });
    const texts = lines.map((line) => line.join(''));
    expect(linesOfPayload(payloadText(lines, shape), shape)).toEqual(texts);
    expect(compareLines(lines, texts)).toMatchObject({ gone: 0, isExcess: false });
  }
});

test.each([
  ['nothing', ['a 11111111 b', 'c'], 0, false],
  ['the value', ['a [redacted:secret#1] b', 'c'], 1, false],
  ['a part of the value', ['a [redacted:secret#1]1111 b', 'c'], 0, false],
  ['more than the value', ['[redacted:secret#1] b', 'c'], 1, true],
  ['a line without a value', ['a [redacted:secret#1] b', '[redacted:secret#2]'], 1, true],
  ['a line as such', ['a [redacted:secret#1] b'], 0, true],
])('the scorer of sizes scores a redactor that removed %s', (_what, output, gone, isExcess) => {
  expect(compareLines([['a ', '11111111', ' b'], ['c']], output)).toEqual({ values: 1, gone, isExcess });
});

test('a payload that was replaced whole counts as whole, and one without values that changed as damaged', async () => {
  const row = { id: 'size-0001', kind: 'ip_address', payload } as const;
  const of = (output: string) => ({ name: 'fixed', redactText: () => output, redactJson: () => output });
  expect(await scoreSize(row, of('[redacted:over_budget]'))).toMatchObject({ values: 10, gone: 10, isWhole: true, isDamaged: false });
  const harmless = { ...row, kind: null, payload: { ...payload, every: 0 } };
  expect(await scoreSize(harmless, of('other'))).toMatchObject({ values: 0, isWhole: false, isDamaged: true });
});

test('a row of sizes that cannot be scored says why', () => {
  const read = (fields: Readonly<Record<string, unknown>>) => readSizeRow(new Map(Object.entries(fields))).problems;
  const right = { id: 'size-0001', kind: 'ip_address', ...payload };
  expect(read(right)).toEqual([]);
  expect(read({ ...right, every: 0 })).toEqual(['a payload has values where it has a kind, and only there']);
  expect(read({ ...right, make: 'metrics' })).toEqual(['the payload has nothing to replace']);
  expect(read({ ...right, shape: 'list' })).toEqual(['shape must be list where the lines are JSON items, and only there']);
  expect(read({ ...right, lines: 1.5, text: '' })).toEqual([
    'has an unknown field text',
    'lines must be a whole number from 0, below 300000',
  ]);
  expect(read({ ...right, make: 'novel' })).toEqual(['make must be a kind of payload']);
});

function isLineKind(name: string): name is LineKind {
  return Object.hasOwn(lineMakers, name);
}
