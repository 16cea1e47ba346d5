// "Workspace policy", "Role policies", "Agent-type policies" and "User policy overrides" of the API description, row by
// row, each status and each "Who".
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRest, type Rest } from '../control-plane/rest.ts';
import { type Case, row, written } from './row.ts';

let rest: Rest;
let admin: string;
let member: string;
beforeAll(async () => {
  rest = await createRest();
  admin = await rest.keyOf('admin');
  member = await rest.keyOf('member');
});
afterAll(() => rest.close());

type Method = 'GET' | 'PUT' | 'DELETE';
const document = { mode: 'enforce', defaults: { api: { rateLimit: 10 } } };
const stricter = { defaults: { api: { rateLimit: 5 } } };
const bodyOf = (method: Method, body: object = document): object => (method === 'PUT' ? { body } : {});

const admins = (method: Method, url: string, success: unknown, words: string): readonly Case[] => [
  { status: 200, when: `${words}, for an owner`, ask: () => rest.ask(method, url, bodyOf(method)), body: success },
  { status: 200, when: `${words}, for an admin`, ask: () => rest.ask(method, url, { key: admin, ...bodyOf(method) }), body: success },
];
const refusedMember = (method: Method, url: string): Case => ({
  status: 403,
  when: 'for a member',
  ask: () => rest.ask(method, url, { key: member, ...bodyOf(method) }),
});
const refused = (method: Method, url: string): readonly Case[] => [
  { status: 401, when: 'without a key', ask: () => rest.ask(method, url, { key: null, ...bodyOf(method) }) },
  { status: 403, when: 'with a key of another workspace', ask: () => rest.ask(method, url, { key: rest.other, ...bodyOf(method) }) },
];
const anyObject = expect.any(Object);

describe('workspace policy', () => {
  const url = '/acme/admin/workspacePolicy';
  row('GET /{workspace}/admin/workspacePolicy', [
    { status: 200, when: '{} if none is set', ask: () => rest.ask('GET', url), body: {} },
    { status: 200, when: 'for any member', ask: () => rest.ask('GET', url, { key: member }), body: {} },
    ...refused('GET', url),
  ]);
  row('PUT /{workspace}/admin/workspacePolicy', [
    ...admins('PUT', url, written(), 'ok'),
    refusedMember('PUT', url),
    ...refused('PUT', url),
  ]);
  test('is a merge update: sent fields change, the rest stays, null removes', async () => {
    await rest.ask('PUT', url, { body: { tools: { a: { api: { permission: 'deny' } } } } });
    await rest.ask('PUT', url, { body: { tools: { b: { api: { rateLimit: 1 } } }, mode: null } });
    expect((await rest.ask('GET', url)).body).toEqual({
      defaults: document.defaults,
      tools: { a: { api: { permission: 'deny' } }, b: { api: { rateLimit: 1 } } },
    });
  });
  row('DELETE /{workspace}/admin/workspacePolicy', [
    ...admins('DELETE', url, written(), 'removed'),
    refusedMember('DELETE', url),
    ...refused('DELETE', url),
    { status: 200, when: 'and then nothing is set', ask: () => rest.ask('GET', url), body: {} },
  ]);
});

describe('role policies', () => {
  const list = '/acme/admin/rolePolicies';
  const url = `${list}/member`;
  row('GET /{workspace}/admin/rolePolicies', [
    ...admins('GET', list, anyObject, 'by role'),
    refusedMember('GET', list),
    ...refused('GET', list),
  ]);
  row('GET /{workspace}/admin/rolePolicies/{role}', [
    ...(['owner', 'admin', 'member'] as const).map((role) => ({
      status: 200,
      when: `{} if unset, for ${role}`,
      ask: () => rest.ask('GET', `${list}/${role}`),
      body: {},
    })),
    { status: 200, when: 'for any member', ask: () => rest.ask('GET', url, { key: member }), body: {} },
    { status: 400, when: 'for a role that is none', ask: () => rest.ask('GET', `${list}/visitor`) },
    ...refused('GET', url),
  ]);
  row('PUT /{workspace}/admin/rolePolicies/{role}', [
    ...admins('PUT', url, written(), 'ok'),
    { status: 400, when: 'for a role that is none', ask: () => rest.ask('PUT', `${list}/Member`, { body: document }) },
    { status: 400, when: 'for a malformed document', ask: () => rest.ask('PUT', url, { body: { mode: 'sometimes' } }) },
    refusedMember('PUT', url),
    ...refused('PUT', url),
  ]);
  row('DELETE /{workspace}/admin/rolePolicies/{role}', [
    ...admins('DELETE', url, written(), 'removed'),
    { status: 400, when: 'for a role that is none', ask: () => rest.ask('DELETE', `${list}/root`) },
    refusedMember('DELETE', url),
    ...refused('DELETE', url),
  ]);
});

describe('agent-type policies', () => {
  const list = '/acme/admin/agentTypePolicies';
  const url = `${list}/${encodeURIComponent('claude-code::api::bot')}`;
  row('GET /{workspace}/admin/agentTypePolicies', [
    ...admins('GET', list, anyObject, 'by key'),
    refusedMember('GET', list),
    ...refused('GET', list),
  ]);
  row('GET /{workspace}/admin/agentTypePolicies/{key}', [
    ...admins('GET', url, {}, '{} if unset'),
    { status: 200, when: 'for any member', ask: () => rest.ask('GET', url, { key: member }), body: {} },
    {
      status: 200,
      when: 'for a key whose name is empty',
      ask: () => rest.ask('GET', `${list}/${encodeURIComponent('claude-code::api::')}`),
      body: {},
    },
    ...refused('GET', url),
  ]);
  row('PUT /{workspace}/admin/agentTypePolicies/{key}', [
    ...admins('PUT', url, written(), 'upserted'),
    refusedMember('PUT', url),
    ...refused('PUT', url),
  ]);
  test('replaces the document', async () => {
    await rest.ask('PUT', url, { body: document });
    await rest.ask('PUT', url, { body: stricter });
    expect((await rest.ask('GET', url)).body).toEqual(stricter);
    expect((await rest.ask('GET', list)).body).toEqual({ 'claude-code::api::bot': stricter });
  });
  row('DELETE /{workspace}/admin/agentTypePolicies/{key}', [
    ...admins('DELETE', url, written(), 'removed'),
    refusedMember('DELETE', url),
    ...refused('DELETE', url),
  ]);
});

describe('user policy overrides', () => {
  const url = '/acme/admin/userPolicies/member-1';
  const others = '/acme/admin/userPolicies/owner';
  row('GET /{workspace}/admin/userPolicies/{uid}', [
    { status: 200, when: '{} if no override exists, for the user themselves', ask: () => rest.ask('GET', url, { key: member }), body: {} },
    ...admins('GET', url, {}, '{} if no override exists'),
    { status: 403, when: 'for another member', ask: () => rest.ask('GET', others, { key: member }) },
    ...refused('GET', url),
  ]);
  row('PUT /{workspace}/admin/userPolicies/{uid}', [
    ...admins('PUT', url, written(), 'ok'),
    {
      status: 200,
      when: 'for a member, stricter on themselves',
      ask: () => rest.ask('PUT', url, { key: member, body: stricter }),
      body: written(),
    },
    {
      status: 403,
      when: 'for a member, looser than the organisation says, naming the place',
      ask: () => rest.ask('PUT', url, { key: member, body: { defaults: { api: { rateLimit: 11 } } } }),
      body: { error: expect.stringContaining('defaults.api.rateLimit'), details: [expect.any(String)] },
    },
    { status: 403, when: 'for a member, of another user', ask: () => rest.ask('PUT', others, { key: member, body: stricter }) },
    {
      status: 200,
      when: 'with agentTypes',
      ask: () => rest.ask('PUT', url, { body: { agentTypes: { 'c::api::': { api: { permission: 'deny' } } } } }),
      body: written(),
    },
    ...refused('PUT', url),
  ]);
  row('DELETE /{workspace}/admin/userPolicies/{uid}', [
    { status: 200, when: 'for the user themselves', ask: () => rest.ask('DELETE', url, { key: member }), body: written() },
    ...admins('DELETE', url, written(), 'removed'),
    { status: 403, when: 'for another member', ask: () => rest.ask('DELETE', others, { key: member }) },
    ...refused('DELETE', url),
  ]);
});
