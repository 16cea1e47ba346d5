// "Agents" and "Agent profile" of the API description, row by row.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, createRest, field, type Rest } from '../control-plane/rest.ts';
import { containing, row, written } from './row.ts';

let rest: Rest;
let reader: string;
let id: string;
let foreign: string;

beforeAll(async () => {
  rest = await createRest();
  reader = await rest.keyOf('member', ['agents.read']);
  id = await rest.createAgent({ name: 'spec' });
  foreign = field(await rest.ask('POST', '/api/v1/agents', { key: rest.other, body: { name: 'theirs', model: 'demo/echo' } }), 'id');
});
afterAll(() => rest.close());

const list = '/api/v1/agents';
const one = (of = id): string => `${list}/${of}`;
const never = 'A'.repeat(20);
type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A missing, a malformed, an unknown and a revoked key, each in a minute of its own: ten failures in one are the most. */
const unauthenticated = (method: Method, url: () => string, body?: object) => {
  const askWith = (key: string | null): Promise<Answer> => {
    rest.clock.now = new Date(rest.clock.now.getTime() + 60_000);
    return rest.ask(method, url(), { key, body });
  };
  return [
    { status: 401, when: 'without a key', ask: () => askWith(null) },
    { status: 401, when: 'with a malformed key', ask: () => askWith('gsk_acme_short') },
    { status: 401, when: 'with a key that never was', ask: () => askWith(`gsk_acme_${'x'.repeat(40)}`) },
    { status: 401, when: 'with a revoked key', ask: async () => askWith(await revoked()) },
  ];
};

async function revoked(): Promise<string> {
  const made = await rest.ask('POST', '/acme/admin/keys', { body: { name: 'gone', scopes: ['*'] } });
  await rest.ask('DELETE', `/acme/admin/keys/${field(made, 'id')}`);
  return field(made, 'key');
}

const missing = (method: Method, body?: object) => [
  { status: 404, when: 'for an id that never was', ask: () => rest.ask(method, one(never), { body }) },
  { status: 404, when: 'for an id of another workspace', ask: () => rest.ask(method, one(foreign), { body }) },
];

row('GET /api/v1/agents', [
  {
    status: 200,
    when: 'with the profiles',
    ask: () => rest.ask('GET', list),
    body: { ok: true, profiles: expect.arrayContaining([containing({ id: expect.any(String), name: 'spec' })]) },
  },
  ...unauthenticated('GET', () => list),
]);

row('POST /api/v1/agents', [
  {
    status: 200,
    when: 'with the id',
    ask: () => rest.ask('POST', list, { body: { name: 'a', model: 'demo/echo' } }),
    body: written({ id: expect.any(String) }),
  },
  { status: 400, when: 'without name', ask: () => rest.ask('POST', list, { body: { model: 'demo/echo' } }) },
  { status: 400, when: 'without model', ask: () => rest.ask('POST', list, { body: { name: 'a' } }) },
  {
    status: 400,
    when: 'for a wrong type',
    ask: () => rest.ask('POST', list, { body: { name: 'a', model: 'demo/echo', maxToolCalls: '5' } }),
  },
  {
    status: 400,
    when: 'for what is no JSON',
    ask: () => rest.ask('POST', list, { body: '{', headers: { 'content-type': 'application/json' } }),
  },
  ...unauthenticated('POST', () => list, { name: 'a', model: 'demo/echo' }),
  {
    status: 403,
    when: 'with a key of agents.read only',
    ask: () => rest.ask('POST', list, { key: reader, body: { name: 'a', model: 'demo/echo' } }),
  },
]);

row('GET /api/v1/agents/{id}', [
  {
    status: 200,
    when: 'with the profile',
    ask: () => rest.ask('GET', one()),
    body: { ok: true, profile: containing({ id: expect.any(String), name: 'spec' }) },
  },
  ...unauthenticated('GET', one),
  ...missing('GET'),
]);

row('PUT /api/v1/agents/{id}', [
  {
    status: 200,
    when: 'for any subset of writable fields',
    ask: () => rest.ask('PUT', one(), { body: { description: 'x' } }),
    body: written(),
  },
  {
    status: 200,
    when: 'with unknown fields, which are ignored',
    ask: () => rest.ask('PUT', one(), { body: { nonsense: 1 } }),
    body: written(),
  },
  ...unauthenticated('PUT', one, {}),
  ...missing('PUT', {}),
]);

row('PATCH /api/v1/agents/{id}', [
  {
    status: 200,
    when: 'for any subset of writable fields',
    ask: () => rest.ask('PATCH', one(), { body: { description: 'y' } }),
    body: written(),
  },
  { status: 400, when: 'for an unknown field', ask: () => rest.ask('PATCH', one(), { body: { nonsense: 1 } }) },
  {
    status: 400,
    when: 'for a field that is not writable',
    ask: () => rest.ask('PATCH', one(), { body: { createdAt: '2026-06-25T00:00:00Z' } }),
  },
  { status: 400, when: 'for an unrecognized model', ask: () => rest.ask('PATCH', one(), { body: { model: 'absent/knows' } }) },
  { status: 400, when: 'for a cap out of bounds', ask: () => rest.ask('PATCH', one(), { body: { maxToolCalls: 0 } }) },
  ...unauthenticated('PATCH', one, {}),
  ...missing('PATCH', {}),
  {
    status: 429,
    when: 'when the rate limit is exceeded',
    ask: async () => {
      const key = await rest.keyOf('admin', ['*'], 'patching');
      let answer: Answer | null = null;
      for (let at = 0; at <= 30; at += 1) answer = await rest.ask('PATCH', one(), { key, body: {} });
      if (answer === null) throw new Error('nothing was asked');
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
      return answer;
    },
  },
]);

row('DELETE /api/v1/agents/{id}', [
  { status: 200, when: 'and it is gone', ask: async () => rest.ask('DELETE', one(await rest.createAgent())), body: written() },
  ...unauthenticated('DELETE', one),
  ...missing('DELETE'),
]);

describe('the fields of a profile', () => {
  test.each([
    ['systemPrompt', 'You are a helpful autonomous agent.'],
    ['description', ''],
    ['icon', ''],
    ['enabledTools', []],
    ['scopes', []],
    ['maxToolCalls', 50],
    ['maxBudgetCents', 1000],
    ['maxDurationMs', 1_800_000],
    ['maxToolRounds', 10],
    ['delegatable', true],
    ['canDelegate', false],
    ['maxDelegationDepth', undefined],
  ])('%s is %j by default', async (name, value) => {
    const { profile } = (await rest.ask('GET', one(await rest.createAgent()))).body as {
      readonly profile: Readonly<Record<string, unknown>>;
    };
    expect(profile[name]).toEqual(value);
  });

  test.each(['id', 'createdAt', 'updatedAt'])('%s is set by the server and not writable', async (name) => {
    const fresh = await rest.createAgent({ [name]: 'mine' });
    await rest.ask('PUT', one(fresh), { body: { [name]: 'mine' } });
    const { profile } = (await rest.ask('GET', one(fresh))).body as { readonly profile: Readonly<Record<string, unknown>> };
    expect(profile[name]).not.toBe('mine');
  });

  test.each([
    ['name', 'renamed'],
    ['model', 'any/thing'],
    ['systemPrompt', 's'],
    ['description', 'd'],
    ['icon', 'i'],
    ['enabledTools', ['a', 'b.*']],
    ['scopes', ['s']],
    ['maxToolCalls', 7],
    ['maxBudgetCents', 0],
    ['maxDurationMs', 5000],
    ['maxToolRounds', 3],
    ['delegatable', false],
    ['canDelegate', true],
    ['maxDelegationDepth', 2],
  ])('PUT writes %s and leaves the others as they were', async (name, value) => {
    const fresh = await rest.createAgent();
    const read = async () => (await rest.ask('GET', one(fresh))).body as { readonly profile: object };
    const before = await read();
    rest.clock.now = new Date(rest.clock.now.getTime() + 1000);
    await rest.ask('PUT', one(fresh), { body: { [name]: value } });
    expect(await read()).toEqual({ ok: true, profile: { ...before.profile, [name]: value, updatedAt: rest.clock.now.toISOString() } });
  });
});
