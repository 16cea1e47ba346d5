// The engine around the detectors. Mail addresses are used as an example of any finding.
import { digestText } from '@tollgate/proto/contract';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { detectors } from '../../../../sidecar/engine/redact/detectors/index.ts';
import { createNumbers, createRedactor, type Redactor } from '../../../../sidecar/engine/redact/index.ts';
import { builtInMarks } from '../../../../sidecar/engine/redact/marks.ts';
import { workMax } from '../../../../sidecar/engine/redact/work.ts';

const plain = createRedactor({ off: [], patterns: [], allow: [] }, []);
const withPatterns = (...patterns: readonly (readonly [string, string])[]): Redactor =>
  createRedactor({ off: [], patterns, allow: [] }, []);
const textOf = (text: string, redactor = plain): string => redactor.redactText(text, createNumbers()).text;
const ann = 'ann.meyer@acme-mail.eu';
const bob = 'bob.ortiz@acme-mail.eu';

const redactValue = (value: unknown, redactor = plain): unknown =>
  JSON.parse(redactor.redactJson(JSON.stringify(value), createNumbers()).text);

describe('in JSON', () => {
  test('strings and keys at any depth are redacted, and strings that are JSON stay JSON', () => {
    const inner = JSON.stringify({ to: [ann], n: 1, deeper: JSON.stringify({ by: bob }) });
    const redacted = redactValue({ a: [{ [bob]: inner }], keep: [1, true, null, 'x'] });
    expect(redacted).toEqual({ a: [{ '[redacted:email#1]': expect.any(String) }], keep: [1, true, null, 'x'] });
    const [first] = Object.values(JSON.parse(JSON.stringify(redacted)).a[0]);
    expect(JSON.parse(String(first))).toEqual({ to: ['[redacted:email#2]'], n: 1, deeper: '{"by":"[redacted:email#1]"}' });
  });

  test('each finding is reported with its kind, count, path and digests, and no path contains what was found', () => {
    const json = JSON.stringify({ to: [ann, `${bob}, ${bob}`], [ann]: { text: `{"x":"${bob}"}` } });
    const { findings } = plain.redactJson(json, createNumbers());
    expect(findings).toEqual([
      { kind: 'email', count: 1, path: 'to[0]', digests: [digestText(ann)] },
      { kind: 'email', count: 2, path: 'to[1]', digests: [digestText(bob)] },
      { kind: 'email', count: 1, path: '', digests: [digestText(ann)] },
      { kind: 'email', count: 1, path: '["[redacted:email#1]"].text.x', digests: [digestText(bob)] },
    ]);
  });

  test('the places of the first 1,000 findings are reported; later findings are only counted', () => {
    const { findings } = plain.redactJson(JSON.stringify(Array.from({ length: 3_000 }, () => [ann, bob])), createNumbers());
    expect(findings).toHaveLength(1_001);
    expect(findings.at(999)).toEqual({ kind: 'email', count: 1, path: '[499][1]', digests: [digestText(bob)] });
    expect(findings.at(1_000)).toEqual({ kind: 'email', count: 5_000, path: '', digests: [digestText(ann), digestText(bob)] });
  });

  test('of a long path at most 2,000 characters are reported, also in JSON in a string', () => {
    const under = (inner: unknown): unknown => Array.from({ length: 23 }).reduce((value) => ({ ['\u0001'.repeat(80)]: value }), inner);
    const { findings } = plain.redactJson(JSON.stringify(under(JSON.stringify(under([ann, 'x', { a: bob }])))), createNumbers());
    expect(findings).toHaveLength(1);
    expect(findings[0]).toMatchObject({ kind: 'email', count: 2 });
    expect(findings[0]?.path.length).toBeLessThanOrEqual(2_001);
    expect(findings[0]?.path).toMatch(/^\["\\u0001.*"\]…$/);
  });

  test('without a finding the text is unchanged byte for byte, including blanks and long numbers', () => {
    const json = '{ "a" : 1e400, "b":12345678901234567890123 ,"c": "{ \\"d\\" : 1.10 }" }';
    expect(plain.redactJson(json, createNumbers())).toEqual({ text: json, findings: [] });
  });

  test('keys that become alike stay distinct, also where the mark already existed', () => {
    const numbers = createNumbers();
    numbers.markFor('email', ann);
    const { text } = plain.redactJson(JSON.stringify({ '[redacted:email#1]': 1, [ann]: 2, [bob]: 3, __proto__x: 4 }), numbers);
    expect(Object.values(JSON.parse(text))).toEqual([1, 2, 3, 4]);
    expect(text).not.toMatch(/ann|bob/);
  });
});

describe('a value that was found by its context', () => {
  test('is found wherever it occurs whole in the same payload, without that context', () => {
    expect(redactValue({ a: 'he put Zw3-Rauhreif+71 on paper', b: 'Zw3-Rauhreif+715', password: 'Zw3-Rauhreif+71' })).toEqual({
      a: 'he put [redacted:password#1] on paper',
      b: 'Zw3-Rauhreif+715',
      password: '[redacted:password#1]',
    });
  });

  test('is found however much other text there is', () => {
    const mails = Array.from({ length: 2_000 }, (_, at) => `user${at}@acme-mail.eu`);
    const text = JSON.stringify(redactValue([mails, { password: 'Zw3-Rauhreif+71' }, 'he put Zw3-Rauhreif+71 on paper']));
    expect(text).not.toMatch(/Rauhreif|acme-mail/);
  });

  test('is not found elsewhere where it is a word of a language', () => {
    const value = { password: 'production', env: 'production', dsn: 'postgresql 15 in production' };
    expect(redactValue(value)).toMatchObject({ env: 'production', dsn: 'postgresql 15 in production' });
  });

  test('is redacted where its label is after it, or around it', () => {
    expect(redactValue({ default: 'Kx93hfTq20wz', name: 'db_password' })).toEqual({
      default: '[redacted:password#1]',
      name: 'db_password',
    });
    expect(redactValue({ password: { old: 'Zw3-Rauhreif+71', count: 3 } })).toEqual({
      password: { old: '[redacted:password#1]', count: 3 },
    });
  });
});

describe('hostile payloads', () => {
  test('characters of any script in values make no difference', () => {
    const mails = Array.from(
      { length: 40 },
      (_, at) => `${String.fromCharCode(...Array.from({ length: 10 }, (__, k) => 0xac00 + at * 10 + k))}@corp.io`,
    );
    const passwords = mails.map((mail, at) => ({ password: `Zw3-${mail.slice(0, 10)}+${at}` }));
    expect(JSON.stringify(redactValue([mails, passwords]))).not.toMatch(/[\uac00-\ud7a3]/);
  });

  test('many keys that become alike stay as many keys, in linear time', () => {
    const raw = `{${Array.from({ length: 20_000 }, () => '"[redacted:email]":1').join(',')}}`;
    const { text } = plain.redactJson(raw, createNumbers());
    expect(Object.keys(JSON.parse(text))).toHaveLength(20_000);
  });
});

describe('patterns of a workspace', () => {
  test('are found in texts and JSON as a separate kind', () => {
    expect(textOf('EMP-123456 and EMP-654321', withPatterns(['employee_number', 'EMP-[0-9]{6}']))).toBe(
      '[redacted:employee_number#1] and [redacted:employee_number#2]',
    );
  });

  test('that would take other engines exponential time take linear time', () => {
    const evil = withPatterns(['evil', '(a+)+$']);
    expect(textOf(`${'a'.repeat(50_000)}!`, evil)).toBe(`${'a'.repeat(50_000)}!`);
  });

  test('that match the empty text find nothing there', () => {
    expect(textOf('xaay', withPatterns(['some', 'a+']))).toBe('x[redacted:some#1]y');
  });
});

describe('settings', () => {
  test('kinds that are off or kept are not found, and neither are allowed values', () => {
    expect(textOf(ann, createRedactor({ off: ['email'], patterns: [], allow: [] }, []))).toBe(ann);
    expect(textOf(ann, createRedactor({ off: [], patterns: [], allow: [] }, ['email']))).toBe(ann);
    expect(textOf(`${ann} ${bob}`, createRedactor({ off: [], patterns: [], allow: [digestText(ann)] }, []))).toBe(
      `${ann} [redacted:email#1]`,
    );
    expect(textOf('EMP-1', createRedactor({ off: [], patterns: [['emp', 'EMP-\\d']], allow: [] }, ['emp']))).toBe('EMP-1');
  });
});

describe('a value that two detectors find', () => {
  // An invented value, in two parts so that no scanner reports it as one in use.
  const token = ['gh', 'p_', 'R7dK2mQx9VbT4nYc8LwZ1sHf6JgP0uE3a5oI'].join('');

  test('is redacted by its own form, not by the name next to it', () => {
    expect(redactValue({ GITHUB_TOKEN: token })).toEqual({ GITHUB_TOKEN: '[redacted:code_hosting_token#1]' });
    expect(textOf(`GITHUB_TOKEN=${token}`)).toBe('GITHUB_TOKEN=[redacted:code_hosting_token#1]');
  });

  test('stays where its own kind is off or kept, whatever its name is', () => {
    const kept = createRedactor({ off: [], patterns: [], allow: [] }, ['code_hosting_token']);
    expect(redactValue({ GITHUB_TOKEN: token, DB_PASSWORD: 'tR9-wq-77b-Kal' }, kept)).toEqual({
      GITHUB_TOKEN: token,
      DB_PASSWORD: '[redacted:password#1]',
    });
    expect(textOf(`GITHUB_TOKEN=${token}`, kept)).toBe(`GITHUB_TOKEN=${token}`);
  });
});

describe('marks', () => {
  test('are never found again, alone or next to a finding', () => {
    const text = `[redacted:email#1][redacted:email] ${ann}[redacted:phone#2]`;
    expect(textOf(text)).toBe('[redacted:email#1][redacted:email] [redacted:email#2][redacted:phone#2]');
  });

  test('are numbered by kind and value, above the numbers already seen', () => {
    const numbers = createNumbers();
    numbers.note('[redacted:email#41] [redacted:phone#9999999999] [redacted:faces#7] [redacted:iban#0]', builtInMarks);
    const marks = [
      numbers.markFor('email', 'a'),
      numbers.markFor('email', 'b'),
      numbers.markFor('email', 'a'),
      numbers.markFor('phone', 'a'),
    ];
    expect(marks).toEqual(['[redacted:email#42]', '[redacted:email#43]', '[redacted:email#42]', '[redacted:phone#1]']);
  });

  test('distinguish different values however many a run has had, and never get a number of more than nine digits', () => {
    const numbers = createNumbers();
    for (let at = 0; at < 10_000; at++) numbers.markFor('iban', String(at));
    expect(numbers.markFor('iban', 'another')).toBe('[redacted:iban#10001]');
    expect(numbers.markFor('iban', 'one more')).toBe('[redacted:iban#10002]');
    expect(numbers.markFor('iban', '7')).toBe('[redacted:iban#8]');
    numbers.note('[redacted:email#999999999]', builtInMarks);
    expect(numbers.markFor('email', 'a')).toBe('[redacted:email]');
  });

  test('in a payload move new numbers above them, however they are written', () => {
    expect(textOf(`[redacted:email#999999] [redacted:email#1000000] ${ann}`)).toContain('[redacted:email#1000001]');
    expect(textOf(`${Array.from({ length: 1_000 }, (_, at) => `[redacted:k${at}#1]`).join(' ')} [redacted:email#1] ${ann}`)).toMatch(
      /email#2\]$/,
    );
    const escaped = `{"a":"\\u005bredacted:email#7]","b":"${ann}"}`;
    expect(JSON.parse(plain.redactJson(escaped, createNumbers()).text)).toEqual({ a: '[redacted:email#7]', b: '[redacted:email#8]' });
    const deeper = JSON.stringify({ a: escaped.replace(ann, ''), b: bob });
    expect(plain.redactJson(deeper, createNumbers()).text).toContain('[redacted:email#8]');
  });

  test('hide nothing: a look-alike is not a mark, and a value next to a mark is checked without it', () => {
    const key = ['sk', '_live_', '51nQ7tZlKR2vXw9hMyC4bDjF8'].join('');
    expect(textOf(`[redacted:x] password=Zw3-Rauhreif+71`)).not.toContain('Rauhreif');
    expect(textOf(`[redacted:${key.toLowerCase()}] ${key}`)).not.toContain(key);
    expect(redactValue({ password: 'Zw3-Rauhreif+71 [redacted:email#1]' })).toEqual({
      password: expect.stringMatching(/^\[redacted:password#\d\]$/),
    });
    expect(redactValue({ password: '[redacted:password#1]' })).toEqual({ password: '[redacted:password#1]' });
  });
});

describe('more work than one call may use', () => {
  test('has the whole value replaced, and no part of it passes', () => {
    const text = `${ann} ${'x '.repeat(workMax / 2)}`;
    const wholly = plain.redactText(text, createNumbers());
    expect(wholly.text.slice(0, 100)).toBe('[redacted:over_budget]');
    expect(wholly.findings).toEqual([{ kind: 'over_budget', count: 1, path: '', digests: [] }]);
    expect(JSON.stringify(redactValue({ text })).slice(0, 100)).toBe('"[redacted:over_budget]"');
  });
});

describe('a stream', () => {
  const streamed = (pieces: readonly string[], redactor = plain): string => {
    const stream = redactor.openStream(createNumbers());
    return pieces.map((piece) => stream.push(piece)).join('') + stream.end();
  };
  const cut = (text: string, at: readonly number[]): readonly string[] =>
    [0, ...at.toSorted((a, b) => a - b)].map((start, index, all) => text.slice(start, all[index + 1] ?? text.length));

  test('gives the same result however it is split, and the result of the whole text', () => {
    const words = fc.constantFrom(ann, bob, 'hello', 'see https://tollgate.dev/x?y=1', '4.5', '@', '文字', '\n', '- a list of things -');
    fc.assert(
      fc.property(fc.array(words, { maxLength: 200 }), fc.array(fc.nat(6_000), { maxLength: 40 }), (parts, at) => {
        const text = parts.join(' ');
        const whole = textOf(text);
        expect(
          streamed(
            cut(
              text,
              at.map((one) => Math.min(one, text.length)),
            ),
          ),
        ).toBe(whole);
        expect(streamed([text])).toBe(whole);
      }),
    );
  });

  test('sends out the finished part long before its end, and counts what it found', () => {
    const stream = plain.openStream(createNumbers());
    const out = stream.push(`${ann} wrote. ${'And so on and on. '.repeat(100)}`);
    expect(out.length).toBeGreaterThan(1_000);
    expect(out.startsWith('[redacted:email#1] wrote. And')).toBe(true);
    expect(stream.findings()).toEqual([{ kind: 'email', count: 1 }]);
  });

  test('recognises split marks, values that it found before, and exceptions of its tool', () => {
    expect(streamed(['x [redacted:em', `ail#1] and ${ann} said`])).toBe('x [redacted:email#1] and [redacted:email#2] said');
    const text = `password=Zw3-Rauhreif+71 ${'lorem '.repeat(300)} Zw3-Rauhreif+71`;
    expect(streamed(cut(text, [200, 700, 1_500]))).not.toContain('Rauhreif');
    const token = ['gh', 'p_', 'R7dK2mQx9VbT4nYc8LwZ1sHf6JgP0uE3a5oI'].join('');
    const kept = createRedactor({ off: [], patterns: [], allow: [] }, ['code_hosting_token']);
    expect(streamed([`GITHUB_TOKEN=${token} and so on`], kept)).toBe(`GITHUB_TOKEN=${token} and so on`);
  });

  test('replaces a piece that needs too much work as a whole, and continues', () => {
    const stream = plain.openStream(createNumbers());
    expect(stream.push('lorem ipsum '.repeat(3_000_000)).slice(0, 100)).toBe('[redacted:over_budget]');
    expect(stream.push(`to ${ann} `) + stream.end()).toBe('to [redacted:email#1] ');
    expect(stream.findings()).toEqual([
      { kind: 'email', count: 1 },
      { kind: 'over_budget', count: 1 },
    ]);
  });

  test('finds a value that comes one character at a time', () => {
    const text = `${'a '.repeat(300)}${ann}${' b'.repeat(300)}`;
    expect(streamed(Array.from(text))).toBe(text.replace(ann, '[redacted:email#1]'));
  });
});

test.each([
  ['{"type":"AADHAAR","number":"677178778817"}', 'national_id'],
  ['{"identyfikator":"02261560954","wizyta":7,"rodzaj":"PESEL"}', 'national_id'],
  ['{"phones":[{"value":"0171 4822781","primary":true}]}', 'phone'],
  ['{"passport":{"number":"C01X00T47"}}', 'national_id'],
])('a member of an object that describes its number counts as its name: %s', (json, kind) => {
  expect(plain.redactJson(json, createNumbers()).findings.map((one) => one.kind)).toEqual([kind]);
});

test.each(['{"type":"mobile","value":20418771}', '{"type":"INVOICE","number":"677178778817"}', '{"order":{"number":"4539578763621486"}}'])(
  'a count and a number of another type stay: %s',
  (json) => {
    expect(plain.redactJson(json, createNumbers()).text).toBe(json);
  },
);

describe('texts composed of what detectors look for', () => {
  const anchors = detectors.flatMap(({ anchors: of }) =>
    of === 'digits' ? ['4539578122046938', '020 7946 0018', '123-45-6789'] : [...of],
  );
  const filling = [
    '"',
    "'",
    ' ',
    '=',
    ': ',
    '\n',
    '@',
    '.',
    '/',
    '[redacted:email#1]',
    '[redacted:',
    ']',
    '{"',
    '":"',
    '"}',
    '\\',
    '\\n',
    '%3D',
    '密',
    'a1B2c3D4e5F6g7H8',
  ];
  const piece = fc.oneof(fc.constantFrom(...anchors), fc.constantFrom(...filling), fc.stringMatching(/^[A-Za-z0-9+/_-]{1,40}$/));
  const numRuns = Math.max(500, Number(process.env['TOLLGATE_TEST_CASES'] ?? 0) / 10);

  test('are redacted completely in one pass, as text and as JSON', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), fc.array(piece, { maxLength: 6 }), (parts, name) => {
        const text = parts.join('');
        const once = textOf(text);
        expect(textOf(once)).toBe(once);
        const json = JSON.stringify({ [name.join('')]: [text, { name: name.join(''), value: parts.slice(0, 4).join('') }] });
        const redacted = plain.redactJson(json, createNumbers()).text;
        expect(plain.redactJson(redacted, createNumbers())).toEqual({ text: redacted, findings: [] });
        expect(Object.keys(JSON.parse(redacted))).toHaveLength(1);
      }),
      { numRuns },
    );
  });
});
