import { performance } from 'node:perf_hooks';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { redact } from '../../../sidecar/redact/redact.ts';

const kindsOf = (text: string): readonly string[] => redact(text).findings.map(({ kind }) => kind);
const tollgateKey = `gsk_acme_${'aZ09'.repeat(10)}`;

test('what is found is replaced by its kind, counted, and never told', () => {
  expect(redact(`write to bob@example.com, carol+x@mail.example.co.uk, pay 4111 1111 1111 1111 with ${tollgateKey}.`)).toEqual({
    value: 'write to [redacted:email], [redacted:email], pay [redacted:card] with [redacted:tollgate_key].',
    findings: [
      { kind: 'card', count: 1 },
      { kind: 'email', count: 2 },
      { kind: 'tollgate_key', count: 1 },
    ],
  });
});

test('cards of the known brands are found with and without separators, also next to other scripts', () => {
  for (const card of [
    '4111111111111111',
    '4111-1111-1111-1111',
    '5500 0055 5555 5559',
    '378282246310005',
    '6011000990139424',
    '2223003122003222',
    '4222222222222',
  ]) {
    expect(kindsOf(card)).toEqual(['card']);
    expect(kindsOf(`卡号${card}。`)).toEqual(['card']);
    expect(kindsOf(`{"card":"${card}"}`)).toEqual(['card']);
  }
});

test('an address is found however long its parts are, and what is glued to it makes no second one', () => {
  expect(redact(`${'x'.repeat(80)}@example.com`).value).toBe('[redacted:email]');
  expect(redact('bob@1.2.3.4.5.6.7.8.9.10.example.com!').value).toBe('[redacted:email]!');
  expect(redact('4111111111111111xxxxxxxx@example.com').value).toBe('[redacted:email]');
  expect(redact('bob@example.com1eve@example.com').value).toBe('[redacted:email]@example.com');
  expect(redact('bob@example.com-signed, eve@example.com.').value).toBe('[redacted:email]-signed, [redacted:email].');
});

test('a card that comes as a number is replaced by text', () => {
  expect(redact({ card: 4111111111111111, cents: 4111 })).toEqual({
    value: { card: '[redacted:card]', cents: 4111 },
    findings: [{ kind: 'card', count: 1 }],
  });
});

/** Luhn's check digit, computed apart from the detector. */
function withCheckDigit(digits: string): string {
  const sum = Array.from(digits)
    .toReversed()
    .reduce(
      (total, digit, at) => total + (at % 2 === 0 ? ((Number(digit) * 2) % 10) + Math.floor((Number(digit) * 2) / 10) : Number(digit)),
      0,
    );
  return `${digits}${(10 - (sum % 10)) % 10}`;
}

test('any sixteen digits of a brand with the right check digit are a card, and with any other are not', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^4\d{14}$/), fc.integer({ min: 1, max: 9 }), (digits, wrong) => {
      const card = withCheckDigit(digits);
      expect(kindsOf(card)).toEqual(['card']);
      expect(kindsOf(`${digits}${(Number(card.at(-1)) + wrong) % 10}`)).toEqual([]);
    }),
  );
});

test('what only looks like it stays as it is', () => {
  const alike = [
    '550e8400-e29b-41d4-a716-446655440000',
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    '1.2.3-rc.4111111',
    '2026-06-25T12:00:00.000Z',
    '4111111111111112',
    '9999999999999999',
    '0000000000000000',
    '+41 44 668 18 00',
    '1000000000000000000000000',
    '3.1415926535897932384',
    'user@localhost',
    '@example.com',
    'name@',
    'a@b',
    'git@github',
    '@scope/package@1.2.3',
    'gsk_acme_tooshort',
    'gsk_acme_',
    'x'.repeat(300),
    '[redacted:email]',
    'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUA',
  ];
  for (const text of alike) expect(redact(text)).toEqual({ value: text, findings: [] });
});

test('keys are redacted too; two that redact alike stay two, and none takes the place of another', () => {
  const { value, findings } = redact({
    'bob@example.com': 1,
    'eve@example.com': 2,
    '[redacted:email]': 3,
    '[redacted:email]#2': 4,
    other: 5,
  });
  expect(findings).toEqual([{ kind: 'email', count: 2 }]);
  expect(Object.keys(value ?? {})).toHaveLength(5);
  expect(Object.values(value ?? {})).toEqual([1, 2, 3, 4, 5]);
  expect(JSON.stringify(value)).not.toContain('example.com');
});

test('a key __proto__ stays an own key', () => {
  const { value } = redact(JSON.parse('{"__proto__":{"to":"bob@example.com"},"constructor":"eve@example.com"}'));
  expect(JSON.stringify(value)).toBe('{"__proto__":{"to":"[redacted:email]"},"constructor":"[redacted:email]"}');
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
});

test('where nothing is found the very value comes back', () => {
  const value = { a: [1, 'x', null, true], b: {} };
  expect(redact(value).value).toBe(value);
});

const piece = fc.constantFrom(
  'bob@example.com',
  '4111111111111111',
  '5500 0055 5555 5559',
  tollgateKey,
  '@',
  '.',
  'x',
  ' ',
  '-',
  '1',
  'x'.repeat(60),
  'x'.repeat(70),
  '[redacted:email]',
  '#2',
  '文',
  'b.co',
  '_',
  'gsk_',
);
const text = fc.array(piece, { maxLength: 8 }).map((parts) => parts.join(''));
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    text,
    fc.constant(null),
    fc.boolean(),
    fc.integer(),
    fc.constant(4111111111111111),
    fc.array(tie('value')),
    fc.dictionary(text, tie('value')),
  ),
})).value;

/** What holds what: kinds of values, how many there are, what is no text. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value === 'object' && value !== null) return Object.values(value).map(shapeOf);
  return value === 4111111111111111 || typeof value === 'string' ? 'text' : value;
}

test('twice is once', () => {
  let changed = 0;
  fc.assert(
    fc.property(json, (value) => {
      const once = redact(value);
      if (once.findings.length > 0) changed += 1;
      expect(redact(once.value)).toEqual({ value: once.value, findings: [] });
    }),
    { numRuns: 3_000 },
  );
  expect(changed).toBeGreaterThan(500);
});

test('the shape is kept: as many items, as many keys, everything else as it was', () => {
  fc.assert(
    fc.property(json, (value) => {
      expect(shapeOf(redact(value).value)).toEqual(shapeOf(value));
    }),
    { numRuns: 2_000 },
  );
});

test('what was planted is not in what comes out', () => {
  const planted = fc.constantFrom('bob@example.com', '4111111111111111', tollgateKey);
  fc.assert(
    fc.property(
      planted,
      fc.constantFrom('', ' ', '"', '文', '(', '=', ': ', '\n', '<'),
      fc.constantFrom('', ' ', '"', '文', ')', ',', ';', '\n', '>'),
      (secret, before, after) => {
        expect(JSON.stringify(redact({ [`${before}${secret}${after}`]: [`${before}${secret}${after}`] }).value)).not.toContain(secret);
      },
    ),
  );
});

test.each([
  ['no sign at all', 'a'],
  ['many signs', '@'],
  ['half an address', 'a@a.'],
  ['labels without end', 'a@aaa.aaa.'],
  ['dots', '.'],
  ['digits', '4'],
  ['digits apart', '4 '],
  ['digits and dashes', '4-'],
  ['the beginning of a key', 'gsk_a'],
  ['beginnings of keys', 'gsk_acme_'],
  ['keys that end early', `gsk_acme_${'a'.repeat(31)}-`],
])('twice the text takes about twice the time: %s', (_, unit) => {
  const of = (length: number): string => unit.repeat(Math.ceil(length / unit.length));
  const timeOf = (input: string): number => {
    const startedAt = performance.now();
    redact(input);
    return performance.now() - startedAt;
  };
  const [half, whole] = [of(50_000), of(100_000)];
  // The best of several: what else the machine does only ever adds.
  const best = (input: string): number => Math.min(...Array.from({ length: 7 }, () => timeOf(input)));
  timeOf(whole);
  // Below a tenth of a millisecond it is the clock that is measured.
  expect(best(whole) / Math.max(0.1, best(half))).toBeLessThan(3);
});
