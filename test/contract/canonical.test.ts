import { bounds, canonicalJson, digestText, NotJson, quoteJson, snapshotEntryDigest, snapshotHash } from '@tollgate/proto/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';

const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
);

test('quoting a text gives what JSON.stringify gives', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      expect(quoteJson(text)).toBe(JSON.stringify(text));
    }),
    { numRuns: 3_000 },
  );
  for (let unit = 0; unit <= 0xffff; unit += 1) {
    const text = String.fromCharCode(unit);
    if (quoteJson(text) !== JSON.stringify(text)) throw new Error(`U+${unit.toString(16)} is quoted as ${quoteJson(text)}`);
  }
  for (const long of ['x'.repeat(999), 'x'.repeat(1_000), `${'x'.repeat(2_000)}"`]) expect(quoteJson(long)).toBe(JSON.stringify(long));
});

/**
 * Writes what JSON.stringify would write with keys sorted by code units. The reference is plain and slow, and checks
 * no limits.
 */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const result: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const [key, child] of Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    Object.defineProperty(result, key, { value: sorted(child), enumerable: true });
  return result;
}

// JavaScript objects put keys like array indices first, so the reference could not sort them.
const key = fc
  .oneof(anyText, fc.constantFrom('__proto__', 'constructor', 'toString'))
  .filter((text) => !/^\d+$/.test(text) && text !== 'toJSON');
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constant(null),
    fc.boolean(),
    fc.integer(),
    fc.double(),
    anyText,
    fc.constant(undefined),
    fc.array(tie('value')),
    fc.dictionary(key, tie('value')),
  ),
})).value;

test('the text is JSON, and equals what JSON.stringify writes of the value with its keys sorted', () => {
  fc.assert(
    fc.property(json, (value) => {
      const text = canonicalJson(value);
      expect(text).toBe(JSON.stringify(sorted(value)) ?? 'null');
      expect(canonicalJson(JSON.parse(text))).toBe(text);
    }),
    { numRuns: 2_000 },
  );
});

test('the order in which keys were set does not matter', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.tuple(fc.oneof(key, fc.nat().map(String)), json), { selector: ([name]) => name }),
      fc.nat(),
      (fields, seed) => {
        const shuffled = fields.map((field, at) => ({ field, rank: (at * 7_919 + seed) % 101 })).toSorted((a, b) => a.rank - b.rank);
        expect(canonicalJson(Object.fromEntries(shuffled.map(({ field }) => field)))).toBe(canonicalJson(Object.fromEntries(fields)));
      },
    ),
  );
  expect(canonicalJson({ b: 1, 10: 2, 9: 3, a: 4 })).toBe('{"10":2,"9":3,"a":4,"b":1}');
});

test('any number of keys is in the order of their code units', () => {
  fc.assert(
    fc.property(fc.uniqueArray(key, { maxLength: 40 }), (names) => {
      const text = canonicalJson(Object.fromEntries(names.map((name) => [name, 0])));
      expect(text).toBe(
        `{${names
          .toSorted((a, b) => (a < b ? -1 : 1))
          .map((name) => `${JSON.stringify(name)}:0`)
          .join(',')}}`,
      );
    }),
  );
});

test('values that JSON writes in its own way are written that way', () => {
  const cases: readonly unknown[] = [
    undefined,
    () => 1,
    Symbol('s'),
    Number.NaN,
    Number.POSITIVE_INFINITY,
    -0,
    1e21,
    1e-7,
    new Date(0),
    [undefined, () => 1, Symbol('s')],
    { u: undefined, f: () => 1 },
    Object.create({ inherited: 1 }),
    new Map([[1, 2]]),
  ];
  for (const value of cases) expect(canonicalJson(value)).toBe(JSON.stringify(value) ?? 'null');
  expect(canonicalJson({ when: new Date(0), nested: { toJSON: () => ({ b: 1, a: 2 }) } })).toBe(
    '{"nested":{"a":2,"b":1},"when":"1970-01-01T00:00:00.000Z"}',
  );
});

test('the holes of a sparse array are null, as in JSON.stringify', () => {
  const sparse: unknown[] = [];
  sparse[2] = 'c';
  const hollow: unknown[] = [];
  hollow.length = 3;
  const endless: unknown[] = [];
  endless.length = 2 ** 32 - 1;
  expect(canonicalJson(sparse)).toBe('[null,null,"c"]');
  expect(canonicalJson({ a: sparse, b: hollow })).toBe('{"a":[null,null,"c"],"b":[null,null,null]}');
  expect(() => canonicalJson(endless)).toThrow(NotJson);
});

test('an own key __proto__ is an ordinary key', () => {
  const value: unknown = JSON.parse('{"b":1,"__proto__":{"x":1}}');
  expect(canonicalJson(value)).toBe('{"__proto__":{"x":1},"b":1}');
});

test('a lone surrogate is escaped, so that the text survives UTF-8', () => {
  const text = canonicalJson({ '\ud800': '\udc00x😀' });
  expect(text).toBe('{"\\ud800":"\\udc00x😀"}');
  expect(Buffer.from(text).toString()).toBe(text);
});

const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)]);
const cyclic: unknown[] = [];
cyclic.push({ cyclic });

test('a value that is not JSON within the bounds is rejected, with a message that begins after its name', () => {
  expect(canonicalJson(nested(bounds.jsonDepth))).toHaveLength(2 * bounds.jsonDepth + 1);
  const refused: readonly (readonly [unknown, RegExp])[] = [
    [nested(bounds.jsonDepth + 1), /^is nested deeper than 64$/],
    [cyclic, /^is nested deeper than 64$/],
    [{ toJSON: selfMaking }, /^is nested deeper than 64$/],
    [{ a: [1n] }, /^contains a BigInt/],
    [Array.from({ length: bounds.jsonNodes }, () => 0), /^has more than 100000 values$/],
    ['x'.repeat(bounds.payloadCharacters - 1), /^is larger than 1114112 characters$/],
  ];
  for (const [value, words] of refused) {
    expect(() => canonicalJson(value)).toThrow(NotJson);
    expect(() => canonicalJson(value)).toThrow(words);
  }
  expect(canonicalJson('x'.repeat(bounds.payloadCharacters - 2))).toHaveLength(bounds.payloadCharacters);
  expect(canonicalJson(Array.from({ length: bounds.jsonNodes - 1 }, () => 0)).length).toBe(2 * bounds.jsonNodes - 1);
});

function selfMaking(): unknown {
  return { toJSON: selfMaking };
}

test('the digest is SHA-256 of the text in UTF-8', () => {
  expect(digestText('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  expect(digestText('é')).toBe('4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c');
});

const entry = fc.record({ key: anyText, value: fc.uint8Array({ maxLength: 40 }) });
const entries = fc.uniqueArray(entry, { selector: ({ key: name }) => name, maxLength: 20 });

test('the hash of a snapshot does not depend on the order of its entries', () => {
  fc.assert(
    fc.property(entries, (list) => {
      expect(snapshotHash(list.toReversed()).equals(snapshotHash(list))).toBe(true);
      expect(snapshotHash(list)).toHaveLength(32);
    }),
  );
  expect(snapshotHash([]).toString('hex')).toBe('0'.repeat(64));
});

test('one changed bit of a value, a changed key, and an added or removed entry each change it', () => {
  fc.assert(
    fc.property(
      entries.filter((list) => list.length > 0),
      fc.nat(),
      fc.nat(),
      (list, which, bit) => {
        const at = which % list.length;
        const picked = list[at];
        if (picked === undefined) throw new RangeError('no entry');
        const hash = snapshotHash(list);
        const flipped = Uint8Array.from(picked.value.length === 0 ? [0] : picked.value);
        flipped[bit % flipped.length] = (flipped[bit % flipped.length] ?? 0) ^ (1 << (bit % 8));
        expect(snapshotHash(list.with(at, { ...picked, value: flipped })).equals(hash)).toBe(false);
        expect(snapshotHash(list.with(at, { ...picked, key: `${picked.key}.` })).equals(hash)).toBe(false);
        expect(snapshotHash(list.toSpliced(at, 1)).equals(hash)).toBe(false);
      },
    ),
  );
});

test('the boundary between key and value is part of the digest', () => {
  expect(snapshotEntryDigest('ab', Buffer.from('c')).equals(snapshotEntryDigest('a', Buffer.from('bc')))).toBe(false);
  expect(snapshotEntryDigest('é', Buffer.from('x')).equals(snapshotEntryDigest('e', Buffer.from('x')))).toBe(false);
});

test('the sum is modulo 2^256: subtracting one entry from the hash gives that of the rest', () => {
  const number = (bytes: Buffer): bigint => BigInt(`0x${bytes.toString('hex')}`);
  const list = Array.from({ length: 50 }, (_, at) => ({ key: `agent/${at}`, value: Buffer.from(String(at)) }));
  const [first] = list;
  const rest = number(snapshotHash(list)) - number(snapshotEntryDigest(first?.key ?? '', first?.value ?? Buffer.alloc(0)));
  expect((rest + 2n ** 256n) % 2n ** 256n).toBe(number(snapshotHash(list.slice(1))));
});
