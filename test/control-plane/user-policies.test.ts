import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createRest, errorOf, type Rest } from './rest.ts';

let rest: Rest;
let member: string;
const url = '/acme/admin/userPolicies/member-1';
const deny = { permission: 'deny' };
const allow = { permission: 'allow' };

beforeAll(async () => {
  rest = await createRest();
  member = await rest.keyOf('member');
});
afterAll(() => rest.close());
beforeEach(async () => {
  await rest.ask('DELETE', url);
  await rest.ask('DELETE', '/acme/admin/workspacePolicy');
});

const organisation = (body: object) => rest.ask('PUT', url, { body });
const self = (body: object) => rest.ask('PUT', url, { key: member, body });
const view = async () => (await rest.ask('GET', url, { key: member })).body;

describe('two parts with two authors', () => {
  test('a member writes self, an admin writes organisation, and both see the stricter of both', async () => {
    await organisation({ defaults: { api: { permission: 'allow', rateLimit: 10 } } });
    expect((await self({ defaults: { api: { rateLimit: 5, transform: 'redact' } }, tools: { 'a.b': { api: deny } } })).status).toBe(200);
    expect(await view()).toEqual({
      defaults: { api: { permission: 'allow', rateLimit: 5, transform: 'redact' } },
      tools: { 'a.b': { api: deny } },
      parts: {
        organisation: { defaults: { api: { permission: 'allow', rateLimit: 10 } } },
        self: { defaults: { api: { rateLimit: 5, transform: 'redact' } }, tools: { 'a.b': { api: deny } } },
      },
    });
    expect((await rest.ask('GET', url)).body).toEqual(await view());
  });

  test('sending back what GET showed changes nothing', async () => {
    await organisation({ mode: 'audit', defaults: { api: deny }, agentTypes: { 'cc::api::': { api: { rateLimit: 3 } } } });
    await self({ defaults: { background: deny } });
    const before = await view();
    for (const key of [member, rest.owner]) {
      expect((await rest.ask('PUT', url, { key, body: before })).status).toBe(200);
      expect(await view()).toEqual(before);
    }
  });

  test('a write of a member’s own part that changes nothing leaves neither history nor an event', async () => {
    const rows = async (): Promise<unknown> =>
      (
        await rest.pool.query(
          'select (select count(*) from policy_history) as history, (select count(*) from admin_event) as events, revision from workspace where slug = $1',
          ['acme'],
        )
      ).rows;
    await self({ tools: { 'a.b': { api: deny } } });
    const written = await rows();
    for (const body of [{}, { tools: { 'a.b': { api: deny } } }, await view()]) expect((await self(Object(body))).status).toBe(200);
    expect(await rows()).toEqual(written);
    expect((await rest.ask('DELETE', url, { key: member })).status).toBe(200);
    const removed = await rows();
    expect(removed).not.toEqual(written);
    expect(await rest.ask('DELETE', url, { key: member })).toMatchObject({ status: 200, body: { ok: true } });
    expect(await rows()).toEqual(removed);
  });

  test('a member writes their own part at most 600 times a minute with a key, which delays no other member', async () => {
    const busy = await rest.keyOf('member', ['*'], 'busy-1');
    const own = '/acme/admin/userPolicies/busy-1';
    const ask = (n: number) => (n % 2 === 0 ? rest.ask('DELETE', own, { key: busy }) : rest.ask('PUT', own, { key: busy, body: [] }));
    for (let n = 0; n < 600; n += 1) expect((await ask(n)).status).toBe(n % 2 === 0 ? 200 : 400);
    for (const n of [0, 1]) {
      const refused = await ask(n);
      expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '60' } });
      expect(errorOf(refused)).toBe('the limit is reached: at most 600 writes of a user policy by its member a minute for each key');
    }
    expect((await rest.ask('PUT', own, { body: { defaults: { api: deny } } })).status).toBe(200);
  });

  test('an admin’s write is the organisation’s, also where the member’s part says the same today', async () => {
    await self({ tools: { 'pay.send': { api: deny } } });
    await organisation({ tools: { 'pay.send': { api: deny } } });
    await rest.ask('DELETE', url, { key: member });
    expect(await view()).toEqual({
      tools: { 'pay.send': { api: deny } },
      parts: { organisation: { tools: { 'pay.send': { api: deny } } } },
    });
  });

  test('an admin who sets the mode that the member has also set makes it the organisation’s', async () => {
    await organisation({ mode: 'audit-only', defaults: { api: deny } });
    await self({ mode: 'enforce' });
    await organisation({ mode: 'enforce' });
    expect(await view()).toMatchObject({ parts: { organisation: { mode: 'enforce' } } });
  });

  test('a member may also set what the organisation sets where their own part differs', async () => {
    await organisation({ mode: 'enforce' });
    await self({ mode: 'audit-only', defaults: { api: deny } });
    await self({ mode: 'enforce' });
    expect(await view()).toMatchObject({ parts: { self: { mode: 'enforce' } } });
  });

  test('null removes from the writer’s part only', async () => {
    await organisation({ defaults: { api: deny } });
    await self({ defaults: { api: { permission: 'deny', rateLimit: 1 } } });
    expect((await self({ defaults: null })).status).toBe(200);
    expect(await view()).toMatchObject({ defaults: { api: deny }, parts: { organisation: { defaults: { api: deny } } } });
    expect(await view()).not.toHaveProperty('parts.self.defaults');
  });

  test('a member’s DELETE reaches self, an admin’s both', async () => {
    await organisation({ defaults: { api: deny } });
    await self({ defaults: { background: deny } });
    await rest.ask('DELETE', url, { key: member });
    expect(await view()).toEqual({ defaults: { api: deny }, parts: { organisation: { defaults: { api: deny } } } });
    await self({ defaults: { background: deny } });
    await rest.ask('DELETE', url);
    expect(await view()).toEqual({});
  });

  test('an admin also writes the organisation’s part about themselves', async () => {
    const admin = await rest.keyOf('admin');
    await rest.ask('PUT', '/acme/admin/userPolicies/admin-1', {
      key: admin,
      body: { defaults: { api: { permission: 'allow', override: true } } },
    });
    expect((await rest.ask('GET', '/acme/admin/userPolicies/admin-1', { key: admin })).body).toMatchObject({
      parts: { organisation: { defaults: { api: { permission: 'allow', override: true } } } },
    });
  });

  test('the history records each part separately', async () => {
    await organisation({ mode: 'audit' });
    await self({ mode: 'enforce' });
    await rest.ask('DELETE', url);
    const { rows } = await rest.pool.query(
      `select part, document from policy_history where layer = 'user' order by revision desc, part limit 4`,
    );
    expect(rows).toEqual([
      { part: 'organisation', document: null },
      { part: 'self', document: null },
      { part: 'self', document: { mode: 'enforce' } },
      { part: 'organisation', document: { mode: 'audit' } },
    ]);
  });
});

describe('a self-edit cannot weaken the organisation’s part', () => {
  test.each([
    ['permission', { defaults: { api: deny } }, { defaults: { api: allow } }, 'defaults.api.permission'],
    ['limit', { defaults: { api: { rateLimit: 5 } } }, { defaults: { api: { rateLimit: 6 } } }, 'defaults.api.rateLimit'],
    ['transform', { defaults: { api: { transform: 'redact' } } }, { defaults: { api: { transform: 'log' } } }, 'defaults.api.transform'],
    [
      'permission of a tool',
      { tools: { 'github.*': { api: deny } } },
      { tools: { 'github.push': { api: allow } } },
      'tools["github.push"].api.permission',
    ],
    [
      'permission of a type',
      { defaults: { api: deny } },
      { agentTypes: { 'cc::api::x': { api: allow } } },
      'agentTypes["cc::api::x"].api.permission',
    ],
  ])('a looser %s is 403, names the place and stores nothing', async (_, workspace, body, place) => {
    await rest.ask('PUT', '/acme/admin/workspacePolicy', { body: workspace });
    const answer = await self(body);
    expect(answer.status).toBe(403);
    expect(errorOf(answer)).toContain(place);
    expect(await view()).toEqual({});
  });

  test('an edit that is as strict or stricter is accepted', async () => {
    await rest.ask('PUT', '/acme/admin/workspacePolicy', {
      body: { defaults: { api: { permission: 'allow', rateLimit: 5, transform: 'redact' } } },
    });
    expect((await self({ defaults: { api: { permission: 'deny', rateLimit: 5, transform: 'redact' } } })).status).toBe(200);
  });

  test('every looser place is named at once', async () => {
    await rest.ask('PUT', '/acme/admin/workspacePolicy', { body: { defaults: { api: deny, background: deny } } });
    const answer = await self({ defaults: { api: allow, background: allow } });
    expect(answer.body).toMatchObject({
      details: [expect.stringContaining('defaults.api'), expect.stringContaining('defaults.background')],
    });
  });

  test('an override in self is 400', async () => {
    const answer = await self({ defaults: { api: { permission: 'allow', override: true } } });
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toContain('override');
  });

  test('rules that became looser later stay, and other places may still be edited', async () => {
    await self({ defaults: { api: allow } });
    await rest.ask('PUT', '/acme/admin/workspacePolicy', { body: { defaults: { api: deny } } });
    expect((await self({ defaults: { background: deny } })).status).toBe(200);
    expect(await view()).toMatchObject({ defaults: { api: allow, background: deny } });
  });
});

test('a service key of a member has no self part', async () => {
  const maker = await rest.keyOf('admin', ['*'], 'maker');
  const { body } = await rest.ask('POST', '/acme/admin/keys', { key: maker, body: { name: 's', scopes: ['*'] } });
  await rest.ask('PATCH', '/acme/admin/members/maker', { body: { role: 'member' } });
  const service = String(Object(body).key);
  for (const method of ['GET', 'DELETE'] as const)
    expect((await rest.ask(method, '/acme/admin/userPolicies/maker', { key: service })).status).toBe(403);
  expect((await rest.ask('PUT', '/acme/admin/userPolicies/maker', { key: service, body: {} })).status).toBe(403);
});

test.each([['a:b'], ['%00'], ['a%2Fb'], ['🙂'], ['u'.repeat(129)]])('the uid %j is 400', async (uid) => {
  expect((await rest.ask('GET', `/acme/admin/userPolicies/${encodeURI(uid)}`)).status).toBe(400);
  expect((await rest.ask('PUT', `/acme/admin/userPolicies/${encodeURI(uid)}`, { body: {} })).status).toBe(400);
});

describe('a document that is sent back in full', () => {
  const shown = async (key: string) => Object((await rest.ask('GET', url, { key })).body) as Record<string, unknown>;

  test('by an admin makes none of the member’s rules the organisation’s', async () => {
    await organisation({ defaults: { api: { permission: 'allow', rateLimit: 80 } } });
    await self({ defaults: { api: { permission: 'deny', rateLimit: 20 } } });
    const before = await shown(rest.owner);
    await organisation({ ...before, tools: { 'a.b': { api: deny } } });
    expect(await view()).toMatchObject({
      parts: {
        organisation: { defaults: { api: { permission: 'allow', rateLimit: 80 } }, tools: { 'a.b': { api: deny } } },
        self: { defaults: { api: { permission: 'deny', rateLimit: 20 } } },
      },
    });
  });

  test('by a member makes none of the organisation’s rules theirs', async () => {
    await organisation({ mode: 'enforce', defaults: { api: { permission: 'deny', rateLimit: 20 } } });
    await self({ mode: 'audit', defaults: { api: { rateLimit: 10 } } });
    await organisation({ defaults: { api: { rateLimit: 5 } } });
    const before = await shown(member);
    expect((await self({ ...before, tools: { 'a.b': { api: deny } } })).status).toBe(200);
    expect(await view()).toMatchObject({
      parts: { self: { mode: 'audit', defaults: { api: { rateLimit: 10 } }, tools: { 'a.b': { api: deny } } } },
    });
  });

  test.each([
    ['null', null],
    ['{}', {}],
    ['one of two', { self: { mode: 'audit' } }],
    ['nothing of ours', 7],
  ])('with parts that are %s is 400, for every sender', async (_, parts) => {
    await organisation({ mode: 'enforce' });
    await self({ mode: 'audit' });
    for (const write of [organisation, self]) {
      const answer = await write({ defaults: { api: deny }, parts });
      expect(answer.status).toBe(400);
      expect(errorOf(answer)).toBe('parts must be omitted, or be exactly what GET returns now: it is read-only');
    }
  });
});

test('a field that a member may not write is 403 before it is validated', async () => {
  for (const body of [{}, { nonsense: 1 }, [], '{'])
    expect(
      (await rest.ask('PUT', '/acme/admin/userPolicies/owner', { key: member, body, headers: { 'content-type': 'application/json' } }))
        .status,
    ).toBe(403);
});

test('__proto__ cannot be a member’s uid, and has no policy', async () => {
  for (const method of ['GET', 'PUT', 'DELETE'] as const) {
    const answer = await rest.ask(method, '/acme/admin/userPolicies/__proto__', method === 'PUT' ? { body: {} } : {});
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toContain('the uid in the path must not be __proto__');
  }
});

test('an admin who removes a user’s exception receives those that still loosen the rule under it', async () => {
  await rest.ask('PUT', '/acme/admin/workspacePolicy', { body: { defaults: { api: deny } } });
  const exception = { api: { permission: 'allow', override: true } };
  await rest.ask('PUT', '/acme/admin/rolePolicies/member', { body: { tools: { a: exception } } });
  const left = { overrides: [{ document: 'role:member', path: 'tools["a"].api', rule: exception.api }] };
  await rest.ask('PUT', '/acme/admin/userPolicies/someone', { body: { tools: { a: exception } } });
  await organisation({ tools: { a: exception } });
  expect(await organisation({ tools: null })).toMatchObject({ status: 200, body: left });
  await organisation({ tools: { a: exception } });
  expect(await rest.ask('DELETE', url)).toMatchObject({ status: 200, body: left });
  await rest.ask('DELETE', '/acme/admin/rolePolicies/member');
  await rest.ask('DELETE', '/acme/admin/userPolicies/someone');
});
