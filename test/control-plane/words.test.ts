// Pure functions that the REST tests cover only indirectly.

import { configTable, printableConfig, readConfig } from '@tollgate/proto/contract';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { configSchema } from '../../control-plane/app/config.ts';
import { entryFromRecord, openRecord } from '../../control-plane/audit/rules/audit-entry.ts';
import { cursorOf, parseAuditQuery } from '../../control-plane/audit/rules/audit-query.ts';
import { cleanJson } from '../../control-plane/base/clean-json.ts';
import { parseInstant } from '../../control-plane/base/instant.ts';
import { placeOfError } from '../../control-plane/http/json-place.ts';
import { findRepeatedKey } from '../../control-plane/http/repeated-key.ts';
import { createRateLimit } from '../../control-plane/base/rate-limit.ts';
import { inTurns, inTurnsByKey } from '../../control-plane/base/turns.ts';
import { daysBetween } from '../../control-plane/audit/store/partitions.ts';
import { casesOf } from '../support/case-count.ts';
import { workOn } from '../support/work-on.ts';

const now = new Date('2026-06-25T12:00:00.000Z');

describe('an instant', () => {
  test('every instant is read back from its ISO form', () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true }),
        (date) => parseInstant(date.toISOString())?.getTime() === date.getTime(),
      ),
    );
  });

  test.each([
    ['2026-06-25T12:00Z', '2026-06-25T12:00:00.000Z'],
    ['2026-06-25T12:00:00-0830', '2026-06-25T20:30:00.000Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['2026-06-25', '2026-06-25T00:00:00.000Z'],
  ])('%s is %s', (text, iso) => {
    expect(parseInstant(text)?.toISOString()).toBe(iso);
  });

  test.each([
    ['2026-06-25 12:00:00Z'],
    ['2026-6-25T12:00:00Z'],
    ['2025-02-29T00:00:00Z'],
    ['2026-06-25T12:00:60Z'],
    ['2026-06-25T24:00:00Z'],
    ['2026-06-25T12:00:00+15:00'],
    ['20260625T120000Z'],
    ['now'],
    ['12026-06-25T12:00:00Z'],
    [''],
  ])('%j is not an instant', (text) => {
    expect(parseInstant(text)).toBeNull();
  });
});

test('the place of an error is within the text, for any text that is not JSON, and the text before it may begin JSON', () => {
  const almost = fc
    .tuple(fc.json(), fc.nat(), fc.string({ maxLength: 2 }))
    .map(([json, at, cut]) => json.slice(0, at % (json.length + 1)) + cut + json.slice((at % (json.length + 1)) + 1));
  fc.assert(
    fc.property(fc.oneof(fc.string(), almost), (text) => {
      try {
        JSON.parse(text);
        return true;
      } catch {
        const { line, column } = placeOfError(text);
        const lines = text.split('\n');
        return line >= 1 && line <= lines.length && column >= 1 && column <= (lines[line - 1]?.length ?? 0) + 1;
      }
    }),
    { numRuns: 2000 },
  );
});

test('a key that an object has twice is found, in any JSON, and in none that has no such key', () => {
  const spaced = fc.constantFrom('', ' ', '\n', '\t ');
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), spaced, (value, other, space) => {
      const text = JSON.stringify(value, null, space);
      expect(findRepeatedKey(text, valuesOf(JSON.parse(text)))).toBeNull();
      const twice = `{"b":[${text},{"a":${text},${space}"c":${JSON.stringify(other)},"\\u0061":${text}}]}`;
      const offset = twice.lastIndexOf('"\\u0061"');
      const found = findRepeatedKey(twice, valuesOf(JSON.parse(twice)));
      // A key in the generated value is not written with that escape.
      expect(found).toEqual({ path: 'b[1].a', offset });
    }),
    { numRuns: casesOf(2_000), seed: 20261127 },
  );
});

const valuesOf = (value: unknown): number =>
  typeof value === 'object' && value !== null ? Object.values(value).reduce((sum: number, one) => sum + valuesOf(one), 1) : 1;

test('finding the place takes work that is linear in the text', () => {
  const work = (levels: number): number => workOn(() => placeOfError(`${'{"a":['.repeat(levels)}"`));
  expect(work(20_000)).toBeGreaterThan(20_000);
  expect(work(40_000)).toBeLessThan(work(20_000) * 2.1);
});

test('any record becomes an entry that is JSON without NUL and unpaired surrogates, no larger than an entry may be', () => {
  const fields = fc.dictionary(
    fc.constantFrom('tool', 'ts', 'decision', 'sub', 'input', 'client', 'depth', '__proto__', 'x', 'y\0'),
    fc.oneof(fc.string({ unit: 'binary' }), fc.jsonValue(), fc.constant('\ud800'), fc.string({ minLength: 600, maxLength: 40_000 })),
  );
  const any = fc.oneof(
    fc.uint8Array({ maxLength: 500 }),
    fc
      .oneof(
        fc.string(),
        fc.json(),
        fields.map((one) => JSON.stringify(one)),
      )
      .map((text) => Buffer.from(text)),
  );
  const arrival = { ingest: 1, id: 'id', receivedAt: now.toISOString(), recordedBy: null, deliveredBy: 'key-1', onlySub: null };
  fc.assert(
    fc.property(any, (bytes) => {
      const { rest, tool, ts } = entryFromRecord(openRecord(bytes, now), arrival);
      expect(/\\u0000|\\ud[89a-f]/i.test(rest.replaceAll('\\\\', ''))).toBe(false);
      expect(Buffer.byteLength(rest)).toBeLessThanOrEqual(64 * 1024);
      expect(typeof JSON.parse(rest)).toBe('object');
      expect(/[\0\p{Cs}]/u.test(tool)).toBe(false);
      expect(Date.parse(ts)).toBeLessThanOrEqual(now.getTime() + 24 * 3_600_000);
    }),
    { numRuns: 1000 },
  );
});

test('valid data stays unchanged, also with `__proto__` among its keys', () => {
  const marks = new Set<string>();
  const value: unknown = JSON.parse('{"__proto__":{"a":[1,null,"🙂"]},"constructor":true}');
  expect(JSON.stringify(cleanJson(value, marks))).toBe(JSON.stringify(value));
  expect(marks.size).toBe(0);
});

test('a cursor leads back to its position', () => {
  fc.assert(
    fc.property(fc.nat(4_000_000_000_000), fc.nat(), fc.nat(), (ts, sequence, since) => {
      const position = { ts: new Date(ts), spoolId: 'ab'.repeat(16), sequence };
      const parsed = parseAuditQuery({ cursor: cursorOf(position, new Date(since)) }, now);
      expect(parsed).toMatchObject({ value: { after: position, since: new Date(since) } });
    }),
  );
});

test('the days between two instants are days of UTC, both ends included', () => {
  expect(daysBetween(new Date('2026-02-27T23:59:59.999Z'), new Date('2026-03-01T00:00:00.000Z'))).toEqual([
    '20260227',
    '20260228',
    '20260301',
  ]);
  expect(daysBetween(now, now)).toEqual(['20260625']);
});

test('a limit holds in every window of a minute, and silent keys are forgotten', () => {
  const clock = { now: 0 };
  const limit = createRateLimit(() => new Date(clock.now), 3);
  const taken: number[] = [];
  for (clock.now = 0; clock.now < 300_000; clock.now += 7000) {
    try {
      limit.take('k');
      taken.push(clock.now);
    } catch (error) {
      expect(error).toMatchObject({ code: 'rate_limited', retryAfterSeconds: expect.any(Number) });
    }
  }
  for (const start of taken) expect(taken.filter((time) => time >= start && time < start + 60_000).length).toBeLessThanOrEqual(3);
  expect(taken.length).toBeGreaterThanOrEqual(12);
});

describe('configuration', () => {
  test('defaults are those of the start-up contract', () => {
    expect(readConfig(configSchema, {})).toEqual({
      config: {
        host: '127.0.0.1',
        port: 8080,
        grpcPort: 8081,
        allowPlaintext: 'false',
        databaseUrl: null,
        dataDir: './.tollgate',
        workspace: 'default',
        ownerEmail: 'owner@localhost',
        ownerKey: null,
        operatorKey: null,
        publicUrl: null,
        oidcIssuer: null,
        oidcClientId: null,
        oidcClientSecret: null,
        secretKey: null,
        enrolPort: null,
        tlsNames: null,
        tlsDir: null,
        restTlsDir: null,
        injectPort: null,
        injectSettings: null,
        injectName: 'tollgate-injector',
        injectCertDir: null,
        toolCommands: null,
        allowPrivateToolServers: 'false',
        defaultPermission: 'allow',
        windowSeconds: 60,
        patchPerMinute: 30,
        dailyCapCents: 5_000,
        runsAtOnce: 100,
        requestsPerSecond: 250,
        hookStatus: 'decision',
        drainMs: 30_000,
        toolTimeoutMs: 60_000,
        traceUrl: null,
        openaiApiKey: null,
        openaiBaseUrl: null,
        anthropicApiKey: null,
        anthropicBaseUrl: null,
        modelEndpoints: null,
        auditRetentionDays: 90,
        auditExportEndpoint: null,
        auditExportHeaders: null,
        checkpointKeyFile: null,
        logLevel: 'info',
      },
    });
  });

  test('every problem is reported at once, and no secret is printed', () => {
    const env = {
      TOLLGATE_PORT: '99999',
      TOLLGATE_OWNER_KEY: 'hunter2',
      TOLLGATE_OPERATOR_KEY: 'short',
      TOLLGATE_WORKSPACE: 'api',
      DATABASE_URL: 'mysql://me:pw@x',
      TOLLGATE_NOPE: '1',
    };
    const read = readConfig(configSchema, env);
    const text = 'problems' in read ? read.problems.join('\n') : '';
    for (const name of Object.keys(env)) expect(text).toContain(name);
    for (const secret of ['hunter2', 'short', 'pw']) expect(text).not.toContain(secret);
  });

  test('secrets print as ***', () => {
    const read = readConfig(configSchema, { TOLLGATE_OWNER_KEY: `gsk_default_${'k'.repeat(40)}`, DATABASE_URL: 'postgres://me:pw@x/y' });
    const printed = 'config' in read ? JSON.stringify(printableConfig(configSchema, read.config)) : '';
    expect(printed).toContain('***');
    expect(printed).not.toMatch(/kkk|pw/);
    expect(configTable(configSchema)).toContain('| `TOLLGATE_PATCH_PER_MINUTE` |');
  });
});

test('turns: never more at once than allowed, all served in order, and a failure frees its turn', async () => {
  let running = 0;
  let most = 0;
  const served: number[] = [];
  const run = inTurns(3, async (n: number) => {
    running += 1;
    most = Math.max(most, running);
    served.push(n);
    await new Promise((go) => setImmediate(go));
    running -= 1;
    if (n % 4 === 0) throw new Error('failed');
    return n;
  });
  const settled = await Promise.allSettled(Array.from({ length: 20 }, (_, n) => run(n)));
  expect(most).toBe(3);
  expect(served).toEqual(Array.from({ length: 20 }, (_, n) => n));
  expect(settled.filter(({ status }) => status === 'rejected')).toHaveLength(5);
});

test('turns by key: one at a time for each key, in order; keys do not wait for each other', async () => {
  const running = new Map<string, number>();
  const served: string[] = [];
  let together = 0;
  const run = inTurnsByKey(
    ([key]: readonly [string, number]) => key,
    async ([key, n]) => {
      running.set(key, (running.get(key) ?? 0) + 1);
      expect(running.get(key)).toBe(1);
      together = Math.max(together, [...running.values()].filter((count) => count > 0).length);
      served.push(`${key}${n}`);
      await new Promise((go) => setImmediate(go));
      running.set(key, 0);
    },
  );
  await Promise.all([0, 1, 2, 3].flatMap((n) => ['a', 'b'].map((key) => run([key, n]))));
  expect(together).toBe(2);
  for (const key of ['a', 'b']) expect(served.filter((one) => one.startsWith(key))).toEqual([0, 1, 2, 3].map((n) => `${key}${n}`));
});
