// What a member may give an agent: at most the workspace's ceiling, and where there is no ceiling nothing that affects
// other members.
import { capabilities } from '@tollgate/proto/contract';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { beat } from '../../control-plane/runs/store/run-instances.ts';
import { createRest, errorOf, field, type Rest } from './rest.ts';

let rest: Rest;
let member = '';
let admin = '';
beforeAll(async () => {
  rest = await createRest();
  member = await rest.keyOf('member');
  admin = await rest.keyOf('admin');
});
afterAll(() => rest.close());

const policy = '/acme/admin/workspacePolicy';
const agents = '/api/v1/agents';
const ceiling = (agentCeiling: object | null) => rest.ask('PUT', policy, { body: { agentCeiling } });
beforeEach(() => ceiling(null));

const create = (key: string, body: object) => rest.ask('POST', agents, { key, body: { name: 'bot', model: 'demo/echo', ...body } });
const change = (method: 'PUT' | 'PATCH', key: string, id: string, body: object) => rest.ask(method, `${agents}/${id}`, { key, body });
const profile = async (id: string) => Object(Object((await rest.ask('GET', `${agents}/${id}`)).body)['profile']);

describe('without a ceiling', () => {
  test('a member creates agents, but none with a scope or that may delegate', async () => {
    expect((await create(member, { enabledTools: ['*', 'github.*'], maxToolCalls: 10_000 })).status).toBe(200);
    const refused = await create(member, { scopes: ['payments'], canDelegate: true });
    expect(refused.status).toBe(403);
    expect(errorOf(refused)).toBe(
      'scopes may not be given "payments" by a member; at most nothing; canDelegate may not be set to true by a member',
    );
  });

  test('a member may keep and remove what an agent has, but not add to it', async () => {
    const id = field(await create(admin, { scopes: ['a', 'b'], canDelegate: true }), 'id');
    for (const method of ['PUT', 'PATCH'] as const) {
      expect((await change(method, member, id, { scopes: ['b', 'a'], canDelegate: true, icon: method })).status).toBe(200);
      expect((await change(method, member, id, { scopes: ['a', 'c'] })).status).toBe(403);
    }
    expect((await change('PATCH', member, id, { scopes: ['a'], canDelegate: false })).status).toBe(200);
    for (const method of ['PUT', 'PATCH'] as const) {
      expect((await change(method, member, id, { scopes: ['a', 'b'] })).status).toBe(403);
      expect((await change(method, member, id, { canDelegate: true })).status).toBe(403);
    }
    expect(await profile(id)).toMatchObject({ scopes: ['a'], canDelegate: false });
  });

  test('owners and admins are not limited', async () => {
    for (const key of [rest.owner, admin]) expect((await create(key, { scopes: ['any'], canDelegate: true })).status).toBe(200);
  });
});

describe('under a ceiling', () => {
  const all = { enabledTools: ['github.*', 'mail.send'], scopes: ['read'], canDelegate: true, maxToolCalls: 20, maxBudgetCents: 50 };
  const within = {
    enabledTools: ['github.issues.*', 'mail.send'],
    scopes: ['read'],
    canDelegate: true,
    maxToolCalls: 20,
    maxBudgetCents: 0,
  };

  test('each field above it is named with its ceiling, and nothing is written', async () => {
    await ceiling(all);
    expect((await create(member, within)).status).toBe(200);
    const above = { enabledTools: ['mail.send', 'mail.read', 'github'], scopes: ['read', 'write'], maxToolCalls: 21, maxBudgetCents: 51 };
    const before = await rest.ask('GET', agents);
    const refused = await create(member, above);
    expect(refused.status).toBe(403);
    expect(Object(refused.body)['details']).toEqual([
      'enabledTools may not be given "mail.read", "github" by a member; at most "github.*", "mail.send"',
      'scopes may not be given "write" by a member; at most "read"',
      'maxToolCalls may be set to at most 20 by a member, is 21',
      'maxBudgetCents may be set to at most 50 by a member, is 51',
    ]);
    expect((await rest.ask('GET', agents)).body).toEqual(before.body);
  });

  test('the defaults of a new agent count as well', async () => {
    await ceiling({ maxToolCalls: 20 });
    expect(errorOf(await create(member, {}))).toBe('maxToolCalls may be set to at most 20 by a member, is 50');
    expect((await create(member, { maxToolCalls: 20 })).status).toBe(200);
  });

  test('a value above it may stay, and change only to one under it', async () => {
    const id = field(await create(admin, { enabledTools: ['shell'], scopes: ['root'], maxToolCalls: 500, maxBudgetCents: 90 }), 'id');
    await ceiling({ ...all, canDelegate: false });
    const unchanged = { enabledTools: ['shell'], scopes: ['root'], maxToolCalls: 500, maxBudgetCents: 90, description: 'mine' };
    for (const method of ['PUT', 'PATCH'] as const) expect((await change(method, member, id, unchanged)).status).toBe(200);
    for (const more of [
      { maxToolCalls: 499 },
      { enabledTools: ['shell', 'mail.send'] },
      { scopes: ['root', 'read'] },
      { canDelegate: true },
    ])
      expect((await change('PATCH', member, id, more)).status).toBe(403);
    expect((await change('PATCH', member, id, { maxToolCalls: 20, enabledTools: [], scopes: [] })).status).toBe(200);
    expect((await change('PATCH', admin, id, { maxToolCalls: 499, scopes: ['root'] })).status).toBe(200);
  });

  test('a ceiling without scopes and canDelegate treats them as if there were no ceiling', async () => {
    await ceiling({ enabledTools: ['*'] });
    expect((await create(member, { scopes: ['a'] })).status).toBe(403);
    expect((await create(member, { canDelegate: true })).status).toBe(403);
  });

  test('`*` and `git*` are names, as in an agent', async () => {
    await ceiling({ enabledTools: ['*', 'git*'] });
    expect((await create(member, { enabledTools: ['git*'] })).status).toBe(200);
    expect((await create(member, { enabledTools: ['github.issues'] })).status).toBe(403);
  });

  test('an invalid ceiling is refused with the place', async () => {
    const refused = await ceiling({ scopes: ['ok', ''], maxToolCalls: -1, everything: true });
    expect(refused.status).toBe(400);
    expect(Object(refused.body)['details']).toEqual([
      'agentCeiling.scopes[1] must not be empty',
      'agentCeiling.maxToolCalls must be an integer from 0 to 10000',
      expect.stringMatching(/^agentCeiling\.everything is not a field here/),
    ]);
  });

  test('it waits for control planes that do not support it, and not for sidecars', async () => {
    await beat(rest.pool, 'old-plane');
    await rest.pool.query('update run_instance set capabilities = $1', [capabilities.filter((name) => name !== 'agent-ceiling')]);
    expect(errorOf(await ceiling({ maxToolCalls: 1 }))).toBe(
      'this policy needs agent-ceiling, which 1 control plane lacks; upgrade all of them first',
    );
    await rest.pool.query('delete from run_instance');
    expect((await ceiling({ maxToolCalls: 1 })).status).toBe(200);
  });
});
