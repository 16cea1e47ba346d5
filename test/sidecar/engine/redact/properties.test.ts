// Properties of redaction for every payload, checked over generated JSON and prose with planted values of every kind.
import { plainRedaction, type RedactionKind } from '@tollgate/proto/contract';
import { createNumbers, createRedactor } from '@tollgate/sidecar/engine/redact';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { harmless, harmlessNames, type PlantedValue, planted } from './planted.ts';

// A case is a whole payload, so a tenth of the cases of decisions takes as long.
const numRuns = Math.max(300, Number(process.env['TOLLGATE_TEST_CASES'] ?? 300) / 10);
const redactor = createRedactor(plainRedaction, []);
const redactJson = (json: string): string => redactor.redactJson(json, createNumbers()).text;
const redactText = (text: string): string => redactor.redactText(text, createNumbers()).text;

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

const anyPlanted = fc.constantFrom(...planted);
// As keys, only those whose text does not name the value next to it, as `password=…` would.
const asKeys = new Set<RedactionKind>(['email', 'ip_address', 'mac_address', 'crypto_address']);
const anyPlantedKey = fc.constantFrom(...planted.filter(({ kind }) => asKeys.has(kind)).map(({ value }) => value));
const { json: anyJson } = fc.letrec<{ json: Json; leaf: Json; list: Json; object: Json; nested: Json }>((tie) => ({
  leaf: fc.oneof(
    fc.constantFrom<Json>(null, true, false, ...harmless),
    fc.integer({ min: -9_999, max: 9_999 }),
    anyPlanted.map(({ text }) => text),
    fc.tuple(fc.constantFrom(...harmless), anyPlanted).map(([before, { text }]) => `${before}\n"${text}"`),
  ),
  list: fc.array(tie('json'), { maxLength: 5 }),
  object: fc
    .uniqueArray(fc.tuple(fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...harmlessNames) }, anyPlantedKey), tie('json')), {
      maxLength: 5,
      selector: ([name]) => name,
    })
    .map((members) => Object.fromEntries(members)),
  // JSON as a string in JSON, as tools answer it.
  nested: tie('json').map((value) => JSON.stringify(value)),
  json: fc.oneof({ depthSize: 'small', withCrossShrink: true }, tie('leaf'), tie('list'), tie('object'), tie('nested')),
}));

const valuesIn = (text: string): readonly string[] => planted.filter(({ value }) => text.includes(value)).map(({ value }) => value);

describe('of any JSON', () => {
  const holds = (name: string, check: (before: Json, json: string) => void): void =>
    test(name, () => {
      fc.assert(
        fc.property(anyJson, (value) => check(value, JSON.stringify(value))),
        { numRuns },
      );
    });

  holds('nothing of what was planted is left', (_value, json) => {
    expect(valuesIn(redactJson(json))).toEqual([]);
  });

  holds('the result is JSON of the same shape, in which all that held nothing is as it was', (value, json) => {
    expectSameShape(value, JSON.parse(redactJson(json)));
  });

  holds('the result of the result is itself, and nothing is found in it', (_value, json) => {
    const once = redactJson(json);
    expect(redactor.redactJson(once, createNumbers())).toEqual({ text: once, findings: [] });
  });

  holds('a run gives a value the same mark in every call', (_value, json) => {
    const numbers = createNumbers();
    const first = redactor.redactJson(json, numbers).text;
    expect(redactor.redactJson(json, numbers).text).toBe(first);
  });
});

function expectSameShape(before: Json, after: Json): void {
  if (before !== null && typeof before === 'object') return expectSameMembers(before, after);
  if (typeof before !== 'string' || valuesIn(before).length === 0) expect(after).toBe(before);
  else if (typeof after === 'string' && isJson(before)) expectSameShape(JSON.parse(before), JSON.parse(after));
  else expect(after).toMatch(/\[redacted:/);
}

function expectSameMembers(before: object, after: Json): void {
  expect(Array.isArray(after)).toBe(Array.isArray(before));
  const rest = Object.entries(after ?? {});
  const members: readonly (readonly [string, Json])[] = Object.entries(before);
  expect(rest.length).toBe(members.length);
  members.forEach(([, value], at) => expectSameShape(value, rest[at]?.[1] ?? null));
}

function isJson(text: string): boolean {
  if (!/^[[{"]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const anyProse = fc
  .array(fc.oneof(fc.constantFrom('the parcel waits', 'rev 14', 'drei Kisten,', '合同已经寄出', 'and so on.'), anyPlanted), {
    maxLength: 40,
  })
  .map((parts) => parts.map((part: string | PlantedValue) => (typeof part === 'string' ? part : part.text)).join(' ; '));

describe('of any prose', () => {
  test('nothing that was planted is left, however the text is split, and a stream gives the result of the whole text', () => {
    fc.assert(
      fc.property(anyProse, fc.array(fc.integer({ min: 1, max: 400 }), { maxLength: 60 }), (text, lengths) => {
        const stream = redactor.openStream(createNumbers());
        let at = 0;
        const given = lengths.map((length) => stream.push(text.slice(at, (at += length))));
        const streamed = [...given, stream.push(text.slice(at)), stream.end()].join('');
        expect(valuesIn(streamed)).toEqual([]);
        expect(streamed).toBe(redactText(text));
      }),
      { numRuns },
    );
  });

  test('numbers continue above those that a text already contains', () => {
    fc.assert(
      fc.property(anyPlanted, fc.integer({ min: 1, max: 900_000 }), ({ kind, text }, number) => {
        const made = redactText(`[redacted:${kind}#${number}] stood here; ${text}`);
        expect(made).toContain(`[redacted:${kind}#${number + 1}]`);
      }),
      { numRuns },
    );
  });
});

test.each(planted)('$kind is found as its own kind in $text', ({ kind, text, value }) => {
  const { text: redacted, findings } = redactor.redactText(text, createNumbers());
  expect(findings.map((finding) => finding.kind)).toEqual([kind]);
  expect(redacted).not.toContain(value);
});

test('a secret that is found at one place is replaced with the same extent at every other place, in a stream as in the whole text', () => {
  const secret = 'CLIENT_SECRET=k7Qz2mXw9vRt4LsB8nHcYd1J';
  const key = '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIKVNyhglMLsdbRMs3tYjey7ZHj9yH8sZcRdElNZJPJ1c\n-----END PRIVATE KEY-----';
  const text = `the id is AKIAQ7RZLKD2WVMN3TXB ; the parcel waits ; ${key} ; ${secret} ; ${secret}`;
  const stream = redactor.openStream(createNumbers());
  expect(stream.push(text) + stream.end()).toBe(redactText(text));
  expect(redactText(text)).toMatch(/(\[redacted:secret#1\]) ; \1$/);
});
