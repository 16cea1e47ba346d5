// How a workspace configures redaction, over HTTP: valid settings, what a sidecar receives of them, and the preview.
import { createHash } from 'node:crypto';
import { plainRedaction, redactionKinds } from '@tollgate/proto/contract';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { compileSettings } from '../../sidecar/engine/compile/compile.ts';
import { readWorkspaceState } from '../../control-plane/workspaces/store/workspace-state.ts';
import { type Answer, createRest, errorOf, type Rest } from './rest.ts';

let rest: Rest;
beforeEach(async () => {
  rest = await createRest();
});
afterEach(() => rest.close());

const admin = '/acme/admin';
const digestOf = (value: string): string => createHash('sha256').update(value).digest('hex');
const redaction = {
  kinds: { ip_address: false, iban: true },
  patterns: { employee_number: 'EMP-[0-9]{6}', badge: 'B[0-9]{4}' },
  allow: [digestOf('info@corp.io'), digestOf('a@corp.io')],
  exceptions: { 'crm.*': ['phone', 'email', 'email'], 'crm.erase': [], hr: ['employee_number'] },
};

const put = (body: unknown, path = 'workspacePolicy') => rest.ask('PUT', `${admin}/${path}`, { body });
const stored = async (): Promise<unknown> => (await rest.ask('GET', `${admin}/workspacePolicy`)).body;
const preview = (body: object, key = rest.owner): Promise<Answer> => rest.ask('POST', `${admin}/redact/preview`, { key, body });
const previewed = async (body: object): Promise<unknown> => {
  const answer = await preview(body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body;
};

async function compiled(workspace = 'acme'): Promise<unknown> {
  const { rows } = await rest.pool.query<{ id: number }>('select id from workspace where slug = $1', [workspace]);
  const state = await readWorkspaceState(rest.pool, rows[0]?.id ?? 0);
  if (state === null) throw new Error('the workspace is gone');
  return compileSettings(state, rest.deps.defaults).redaction;
}

describe('the section of the workspace document', () => {
  test('is stored as sent, and compiled into sorted lists that name only what is disabled', async () => {
    expect(await compiled()).toEqual(plainRedaction);
    expect((await put({ redaction })).status).toBe(200);
    expect(await stored()).toEqual({ redaction });
    expect(await compiled()).toEqual({
      off: ['ip_address'],
      patterns: [
        ['badge', 'B[0-9]{4}'],
        ['employee_number', 'EMP-[0-9]{6}'],
      ],
      allow: redaction.allow.toSorted(),
      exceptions: [
        ['crm.*', ['email', 'phone']],
        ['crm.erase', []],
        ['hr', ['employee_number']],
      ],
    });
    expect(await compiled('other')).toEqual(plainRedaction);
  });

  test('holds in audit mode too, as the other settings of the workspace do', async () => {
    await put({ mode: 'audit', redaction: { kinds: { email: false } } });
    expect(await compiled()).toEqual({ ...plainRedaction, off: ['email'] });
  });

  test('is merged: sent fields change, null removes, and a list is replaced whole', async () => {
    await put({ redaction });
    await put({ redaction: { kinds: { email: false, iban: null }, patterns: { badge: null }, allow: [digestOf('x')] } });
    expect(await stored()).toEqual({
      redaction: {
        kinds: { ip_address: false, email: false },
        patterns: { employee_number: 'EMP-[0-9]{6}' },
        allow: [digestOf('x')],
        exceptions: redaction.exceptions,
      },
    });
    await put({ redaction: null });
    expect(await stored()).toEqual({});
    expect(await compiled()).toEqual(plainRedaction);
  });

  test('a pattern that an exception names stays as long as the exception does', async () => {
    await put({ redaction });
    const answer = await put({ redaction: { patterns: { employee_number: null } } });
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toMatch(
      /^redaction\.exceptions\["hr"\]\[0\] must be the name of one of the "patterns" of this section, or one of authorization, /,
    );
    expect((await put({ redaction: { patterns: { employee_number: null }, exceptions: { hr: null } } })).status).toBe(200);
  });

  test('an unknown kind is refused with its place and the list of kinds', async () => {
    expect(errorOf(await put({ redaction: { kinds: { faces: false } } }))).toBe(
      `redaction.kinds.faces is not a field here; the fields are ${redactionKinds.join(', ')}`,
    );
  });

  test('every problem is reported at once, each with its place', async () => {
    const upper = digestOf('x').toUpperCase();
    const answer = await put({
      redaction: {
        kinds: { email: 'no' },
        patterns: { email: 'x', over_budget: 'x', 'Employee-1': 'x', open: '(', all: 'x*', number: 7, long: 'x'.repeat(501) },
        allow: [upper, 'bob@corp.io', 7],
        exceptions: { ' ': [], '*': [], 'crm*': ['email'], 'crm.*': 'email', 'erp.*': ['email', 'faces', 7] },
        unknown: 1,
      },
    });
    expect(answer.status).toBe(400);
    const { details } = Object(answer.body) as { readonly details: readonly string[] };
    const kinds = redactionKinds.join(', ');
    expect(details).toEqual([
      'redaction.kinds.email must be true or false',
      'redaction.patterns["email"] names a kind that is built in',
      'redaction.patterns["over_budget"] names what stands where a payload took too much work',
      'redaction.patterns["Employee-1"] must be 1 to 40 of a-z, 0-9 and _, and begin with a letter',
      expect.stringMatching(/^redaction\.patterns\.open is not an RE2 pattern: /),
      'redaction.patterns.all matches the empty text, and so everything',
      'redaction.patterns.number must be a string',
      'redaction.patterns.long must be at most 500 characters, is 501',
      'redaction.allow[0] must be in lower case',
      'redaction.allow[1] must be 64 hex digits, the SHA-256 of a value',
      'redaction.allow[2] must be 64 hex digits, the SHA-256 of a value',
      'redaction.exceptions[" "] must not begin or end with a blank',
      'redaction.exceptions["*"] ends in * but is not a wildcard, which ends in .* _* /* :* or -*',
      'redaction.exceptions["crm*"] ends in * but is not a wildcard, which ends in .* _* /* :* or -*',
      'redaction.exceptions["crm.*"] must be an array',
      `redaction.exceptions["erp.*"][1] must be the name of one of the "patterns" of this section, or one of ${kinds}`,
      'redaction.exceptions["erp.*"][2] must be a string',
      'redaction.unknown is not a field here; the fields are kinds, patterns, allow, exceptions',
    ]);
    expect(await stored()).toEqual({});
  });

  test('has its maxima', async () => {
    const many = <T>(count: number, value: (at: number) => T) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, value(at)]));
    const digests = (count: number) => Array.from({ length: count }, (_, at) => digestOf(String(at)));
    const full = { patterns: many(50, String), allow: digests(1_000), exceptions: many(1_000, () => ['email']) };
    expect((await put({ redaction: full })).status).toBe(200);
    await put({ redaction: null });
    for (const [over, message] of [
      [{ patterns: many(51, String) }, 'redaction.patterns must have at most 50 keys, has 51'],
      [{ allow: digests(1_001) }, 'redaction.allow must have at most 1000 items, has 1001'],
      [{ exceptions: many(1_001, () => []) }, 'redaction.exceptions must have at most 1000 keys, has 1001'],
    ] as const)
      expect(errorOf(await put({ redaction: over }))).toBe(message);
  });

  test.each([
    ['rolePolicies/member', 'mode, defaults, tools'],
    [`agentTypePolicies/${encodeURIComponent('hook::api::')}`, 'mode, defaults, tools'],
    ['userPolicies/owner', 'mode, defaults, tools, agentTypes'],
  ])('is not allowed in %s', async (path, sections) => {
    const answer = await put({ redaction: {} }, path);
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toContain(`redaction is not a field here; the fields are ${sections}`);
  });

  test('is for owners and admins to write; members read it', async () => {
    const key = await rest.keyOf('member');
    await put({ redaction });
    expect((await rest.ask('PUT', `${admin}/workspacePolicy`, { key, body: { redaction: null } })).status).toBe(403);
    expect(await rest.ask('GET', `${admin}/workspacePolicy`, { key })).toMatchObject({ status: 200, body: { redaction } });
    const reader = await rest.keyOf('admin', ['policies.read']);
    expect((await rest.ask('PUT', `${admin}/workspacePolicy`, { key: reader, body: { redaction: null } })).status).toBe(403);
  });
});

describe('in the set of all documents', () => {
  const apply = (body: object) => rest.ask('POST', `${admin}/policies/apply`, { body });

  test('an export can be applied again, and nothing differs', async () => {
    await put({ redaction });
    const exported = (await rest.ask('GET', `${admin}/policies`)).body;
    expect(exported).toMatchObject({ workspacePolicy: { redaction } });
    expect(await apply(Object(exported) as object)).toMatchObject({ status: 200, body: { changes: [] } });
  });

  test('a dry run names each place that differs, a list as one value', async () => {
    await put({ redaction });
    const allow = [digestOf('x')];
    const answer = await apply({
      dryRun: true,
      workspacePolicy: {
        redaction: { ...redaction, patterns: { badge: 'C' }, allow, exceptions: { ...redaction.exceptions, hr: ['email'] } },
      },
    });
    expect(answer).toMatchObject({
      body: {
        changes: [
          {
            document: 'workspace',
            paths: [
              { path: 'redaction.allow', before: redaction.allow, after: allow },
              { path: 'redaction.patterns.badge', before: 'B[0-9]{4}', after: 'C' },
              { path: 'redaction.patterns.employee_number', before: 'EMP-[0-9]{6}' },
              { path: 'redaction.exceptions["hr"]', before: ['employee_number'], after: ['email'] },
            ].toSorted((a, b) => order(a.path) - order(b.path)),
          },
        ],
      },
    });
    expect(await stored()).toEqual({ redaction });
  });

  // PostgreSQL orders the keys of stored JSON by their length.
  const order = (path: string): number => ['allow', 'patterns', 'exceptions'].findIndex((name) => path.startsWith(`redaction.${name}`));

  test('it is rolled back with the other documents', async () => {
    const { revision } = Object((await put({ redaction })).body) as { readonly revision: number };
    await put({ redaction: null });
    expect((await rest.ask('POST', `${admin}/policies/rollback`, { body: { revision } })).status).toBe(200);
    expect(await stored()).toEqual({ redaction });
  });
});

describe('an explanation', () => {
  const explained = async (tool: string): Promise<unknown> => {
    const answer = await rest.ask('POST', `${admin}/explain`, { body: { role: 'member', agentType: 'hook::api::', tier: 'api', tool } });
    return Object(answer.body).redaction as unknown;
  };
  const redacts = { api: { transform: 'redact' } };
  const said = { off: ['ip_address'], patterns: ['badge', 'employee_number'], allow: 2 };

  test('describes how a call is redacted, with the exception of its tool, and no pattern', async () => {
    await put({ redaction, defaults: redacts });
    expect(await explained('mail.send')).toEqual({ ...said, exception: null });
    expect(await explained('crm.find')).toEqual({
      ...said,
      exception: { path: 'redaction.exceptions["crm.*"]', kinds: ['email', 'phone'] },
    });
    expect(await explained('crm.erase')).toEqual({ ...said, exception: { path: 'redaction.exceptions["crm.erase"]', kinds: [] } });
  });

  test('also does so where only stored entries are redacted, and omits it where nothing is redacted', async () => {
    await put({ redaction });
    expect(await explained('mail.send')).toBeUndefined();
    await put({ mode: 'audit', defaults: redacts });
    expect(await explained('mail.send')).toEqual({ ...said, exception: null });
  });
});

describe('a preview', () => {
  test('of JSON shows the result, the findings and their places; nothing of it is stored or logged', async () => {
    const value = {
      to: ['bob@corp.io', 'eve@corp.io'],
      body: { text: 'from bob@corp.io', count: 3, none: null },
      raw: '{"cc":"eve@corp.io"}',
    };
    const before = (await rest.pool.query('select * from admin_event')).rows;
    const revision = async () => (await rest.pool.query('select revision from workspace')).rows;
    const held = await revision();
    expect(await previewed({ value })).toEqual({
      value: {
        to: ['[redacted:email#1]', '[redacted:email#2]'],
        body: { text: 'from [redacted:email#1]', count: 3, none: null },
        raw: '{"cc":"[redacted:email#2]"}',
      },
      findings: [
        { kind: 'email', count: 1, path: 'body.text', digests: [digestOf('bob@corp.io')] },
        { kind: 'email', count: 1, path: 'raw.cc', digests: [digestOf('eve@corp.io')] },
        { kind: 'email', count: 1, path: 'to[0]', digests: [digestOf('bob@corp.io')] },
        { kind: 'email', count: 1, path: 'to[1]', digests: [digestOf('eve@corp.io')] },
      ],
    });
    expect(await revision()).toEqual(held);
    expect((await rest.pool.query('select * from admin_event')).rows).toEqual(before);
    expect(rest.lines.join('\n')).not.toMatch(/corp\.io/);
  });

  test('numbers values in the same order as the endpoints: by sorted keys', async () => {
    expect(await previewed({ value: { to: 'bob@corp.io', from: 'eve@corp.io' } })).toMatchObject({
      value: { to: '[redacted:email#2]', from: '[redacted:email#1]' },
    });
  });

  test('of a value that exceeds its bounds as JSON is refused', async () => {
    const body = `{"value":[${Array.from({ length: 60_000 }, () => '1e20').join(',')}]}`;
    const answer = await rest.ask('POST', `${admin}/redact/preview`, { body, headers: { 'content-type': 'application/json' } });
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toMatch(/^value is larger than/);
  });

  test('of a text shows the text; numbers start again with each', async () => {
    const found = { kind: 'email', count: 1, path: '', digests: [digestOf('bob@corp.io')] };
    for (const name of ['bob', 'bob']) {
      expect(await previewed({ value: `write to ${name}@corp.io` })).toEqual({ value: 'write to [redacted:email#1]', findings: [found] });
    }
    expect(await previewed({ value: 'nothing' })).toEqual({ value: 'nothing', findings: [] });
    for (const value of [null, true, 7, [], '']) expect(await previewed({ value })).toEqual({ value, findings: [] });
  });

  test('uses the stored settings, or a draft without storing it', async () => {
    const value = 'EMP-123456 is bob@corp.io';
    const draft = { kinds: { email: false }, patterns: { employee_number: 'EMP-[0-9]{6}' } };
    expect(await previewed({ value })).toMatchObject({ value: 'EMP-123456 is [redacted:email#1]' });
    expect(await previewed({ value, redaction: draft })).toMatchObject({ value: '[redacted:employee_number#1] is bob@corp.io' });
    expect(await stored()).toEqual({});
    await put({ redaction: draft });
    expect(await previewed({ value })).toMatchObject({ value: '[redacted:employee_number#1] is bob@corp.io' });
    // A draft replaces the whole section.
    expect(await previewed({ value, redaction: {} })).toMatchObject({ value: 'EMP-123456 is [redacted:email#1]' });
  });

  test('of a tool with an exception keeps what its calls keep', async () => {
    await put({ redaction: { patterns: { badge: 'B[0-9]{4}' }, exceptions: { 'crm.*': ['email'], 'crm.erase': ['badge'] } } });
    const value = 'bob@corp.io has B1234';
    const shown = async (tool?: string) => Object(await previewed({ value, ...(tool === undefined ? {} : { tool }) })).value as unknown;
    expect(await shown()).toBe('[redacted:email#1] has [redacted:badge#1]');
    expect(await shown('mail.send')).toBe('[redacted:email#1] has [redacted:badge#1]');
    expect(await shown('crm.find')).toBe('bob@corp.io has [redacted:badge#1]');
    expect(await shown('crm.erase')).toBe('[redacted:email#1] has B1234');
  });

  test('returns the digests that the allow-list accepts', async () => {
    const value = { from: 'info@corp.io', to: 'bob@corp.io' };
    const { findings } = Object(await previewed({ value })) as {
      readonly findings: readonly { path: string; digests: readonly string[] }[];
    };
    const allow = findings.find(({ path }) => path === 'from')?.digests;
    expect(allow).toHaveLength(1);
    expect((await put({ redaction: { allow } })).status).toBe(200);
    expect(await previewed({ value })).toMatchObject({ value: { from: 'info@corp.io', to: '[redacted:email#1]' } });
  });

  test('refuses what a write would refuse, all at once', async () => {
    const answer = await preview({ tool: '', redaction: { kinds: { faces: false }, allow: ['x'] }, more: 1 });
    expect(answer.status).toBe(400);
    expect(Object(answer.body)).toMatchObject({
      details: [
        'value is required',
        'tool must not be empty',
        expect.stringMatching(/^redaction\.kinds\.faces is not a field here/),
        expect.stringMatching(/^redaction\.allow\[0\] must be 64 hex digits/),
        'more is not a field here; the fields are value, tool, redaction',
      ],
    });
    const deep = `{"value":${'['.repeat(70)}${']'.repeat(70)}}`;
    const headers = { 'content-type': 'application/json' };
    expect((await rest.ask('POST', `${admin}/redact/preview`, { body: deep, headers })).status).toBe(400);
    expect((await preview({ value: 'x'.repeat(1_048_576) })).status).toBe(413);
  });

  test('uses the settings of the workspace that asks, and of no other', async () => {
    await put({ redaction: { patterns: { badge: 'B[0-9]{4}' } } });
    const body = { value: 'B1234' };
    expect((await rest.ask('POST', '/other/admin/redact/preview', { body })).status).toBe(403);
    expect(await rest.ask('POST', '/other/admin/redact/preview', { key: rest.other, body })).toMatchObject({
      body: { value: 'B1234', findings: [] },
    });
  });

  test('is for owners and admins with policies.read', async () => {
    const body = { value: 'x' };
    expect((await preview(body, await rest.keyOf('admin', ['policies.read']))).status).toBe(200);
    expect((await preview(body, await rest.keyOf('admin', ['policies.write']))).status).toBe(403);
    expect((await preview(body, await rest.keyOf('member'))).status).toBe(403);
  });
});
