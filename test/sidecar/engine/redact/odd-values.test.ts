// Values that are hidden by how they are written: very long, or with marks, masks and blanks of all widths around and
// within them.
import { plainRedaction } from '@tollgate/proto/contract';
import { createNumbers, createRedactor } from '@tollgate/sidecar/engine/redact';
import { expect, test } from 'vitest';

const chosen = 'Zw3-Rauhreif+71';
const redactor = createRedactor(plainRedaction, []);
const redact = (text: string): string => redactor.redactText(text, createNumbers()).text;
const redactJson = (value: unknown): string => redactor.redactJson(JSON.stringify(value), createNumbers()).text;

/** Returns letters and digits, generated from a seed. */
function drawn(length: number, seed = 12_345): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
  let state = seed;
  let result = '';
  while (result.length < length) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    result += letters[(state >>> 16) % letters.length];
  }
  return result;
}

test('all rows of a dump are redacted', () => {
  const values = Array.from({ length: 300 }, (_, row) => `${drawn(9, row)}!${row}`);
  const rows = values.map((value, row) => `('user${row}', '${value}')`).join(', ');
  const hidden = redact(`INSERT INTO users (name, password) VALUES ${rows};`);
  expect(values.filter((value) => hidden.includes(value))).toEqual([]);
  expect(hidden).toContain('user299');
});

test.each([`${chosen}\n`, `\t${chosen}  `, 'correct horse battery Zw3', 839201847, '2024-01-01 Rauh!x7', drawn(257), drawn(50_000)])(
  'a password in JSON is redacted: %j',
  (password) => expect(redactJson({ password })).toBe('{"password":"[redacted:password#1]"}'),
);

test('a password of digits in a text is redacted too', () => {
  expect(redact('it has {"password": 839201847, "pin": 1}')).toBe('it has {"password": [redacted:password#1], "pin": 1}');
});

test.each([4_097, 20_000])('of a key of %d characters nothing is left', (length) => {
  const key = drawn(length);
  expect(redactJson({ api_key: key })).toBe('{"api_key":"[redacted:secret#1]"}');
  expect(redact(`x api_key="${key}" y`)).toBe('x api_key="[redacted:secret#1]" y');
  expect(redact(`x api_key=${key} y`)).toBe('x api_key=[redacted:secret#1] y');
  expect(redact(`Authorization: Bearer ${key}\nnext`)).toBe('Authorization: Bearer [redacted:authorization#1]\nnext');
  expect(redact(`https://a.io/x?access_token=${key}&b=1 y`)).toMatch(/^https:\/\/a\.io\/x\?access_token=\[redacted:\w+#1\]&b=1 y$/);
  expect(redact(`Cookie: session=${key}; b=1`)).toBe('Cookie: session=[redacted:authorization#1]; b=1');
  expect(redact(`Server=db;Password=${key};Database=x`)).toMatch(/^Server=db;Password=\[redacted:\w+#1\];Database=x$/);
});

test.each(['\u00a0', '\u2003', '\u2009', '\u202f'])('%j counts as a blank between a name and its value', (blank) => {
  for (const before of [`password:${blank}`, `**password**:${blank}`, `password${blank}=${blank}`, `the password${blank}is${blank}`])
    expect(redact(before + chosen)).toBe(`${before}[redacted:password#1]`);
});

test.each(['Zw3...Rauh+71', 'Zw3***Rauh+71', 'Example-71+Rauh', '10:23Abc!x'])('%s is a password, although it looks masked', (value) => {
  expect(redactJson({ password: value })).toBe('{"password":"[redacted:password#1]"}');
  expect(redact(`password: ${value}`)).toBe('password: [redacted:password#1]');
});

test.each(['********', 'sk-...abcd', 'ab12****', '***REDACTED***', 'changeme123!', 'your-P@ssw0rd'])('%s is a mask', (value) => {
  expect(redactJson({ password: value })).toBe(JSON.stringify({ password: value }));
});

test('text next to a mark is checked without the mark', () => {
  expect(redact(`password: [redacted:password#1]${chosen}`)).toBe('password: [redacted:password#1][redacted:password#2]');
  expect(redact(`password: ${chosen}[redacted:email#1]`)).toBe('password: [redacted:password#1][redacted:email#1]');
  expect(redactJson({ password: `${chosen} [redacted:email#1]` })).not.toContain(chosen);
  expect(redact(`api_key=[redacted:secret#1]${drawn(30)}`)).toBe('api_key=[redacted:secret#1][redacted:secret#2]');
});

test('a look-alike of a mark hides nothing', () => {
  expect(redact(`password: [redacted:nonsense#1]${chosen}`)).not.toContain(chosen);
  expect(redactJson({ password: `[redacted:nonsense#1]${chosen}` })).not.toContain(chosen);
  expect(redactJson({ password: `[redacted:${chosen}]` })).not.toContain(chosen);
});

test.each(['password: [redacted:password#1]', '{"password":"[redacted:password#1]"}', 'token=[redacted:secret#1]&x=1'])(
  'a mark alone stays: %s',
  (text) => expect(redact(text)).toBe(text),
);

// A bar breaks values that scanners of code hosts would report as real.
test.each([
  ['code_hosting_token', `gh¦p_${drawn(36)}`],
  ['code_hosting_token', `gl¦pat-${drawn(20)}`],
  ['registry_token', `np¦m_${drawn(36)}`],
  ['cloud_key', 'AK¦IAQ7RZLKD2WVMN3TXB'],
])('of several values without separators nothing is left: %s', (kind, barred) => {
  const token = barred.replace('¦', '');
  expect(redact(`a ${token}${token} b`)).toBe(`a [redacted:${kind}#1] b`);
  expect(redact(`a ${token}${token}${token} b`)).toBe(`a [redacted:${kind}#1] b`);
});
