// Every endpoint, requested by every role and by keys with and without the scope that it needs.
import type { Role, Scope } from '@tollgate/proto/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRest, field, type Rest } from './rest.ts';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

interface Row {
  readonly method: Method;
  readonly path: string;
  readonly scope: Scope;
  readonly who: readonly Role[];
  readonly body?: object;
  /** Scopes that its actor must also have, since no actor can give a scope that it lacks. */
  readonly gives?: readonly Scope[];
}

const all: readonly Role[] = ['owner', 'admin', 'member'];
const leads: readonly Role[] = ['owner', 'admin'];
const ofMembers: readonly Scope[] = ['agents.read', 'agents.write', 'policies.read', 'policies.write', 'admin.approvals'];
const admin = '/acme/admin';
const type = `${admin}/agentTypePolicies/${encodeURIComponent('claude-code::api::')}`;
const question = { role: 'member', agentType: 'claude-code::api::', tier: 'api', tool: 'github.create_issue' };

/**
 * `{id}` is an agent, `{uid}` the uid of the requester. The result of a request does not matter, only that it is not
 * 401 or 403.
 */
const rows: readonly Row[] = [
  { method: 'GET', path: '/api/v1/agents', scope: 'agents.read', who: all },
  { method: 'POST', path: '/api/v1/agents', scope: 'agents.write', who: all, body: { name: 'x', model: 'y' } },
  { method: 'GET', path: '/api/v1/agents/{id}', scope: 'agents.read', who: all },
  { method: 'PUT', path: '/api/v1/agents/{id}', scope: 'agents.write', who: all, body: {} },
  { method: 'PATCH', path: '/api/v1/agents/{id}', scope: 'agents.write', who: all, body: {} },
  { method: 'DELETE', path: '/api/v1/agents/{id}', scope: 'agents.write', who: all },
  { method: 'GET', path: '/api/v1/models', scope: 'agents.read', who: all },
  { method: 'GET', path: `${admin}/toolServers`, scope: 'policies.read', who: leads },
  { method: 'POST', path: `${admin}/toolServers`, scope: 'policies.write', who: leads, body: {} },
  { method: 'GET', path: `${admin}/toolServers/files`, scope: 'policies.read', who: leads },
  { method: 'POST', path: `${admin}/toolServers/files/refresh`, scope: 'policies.write', who: leads },
  { method: 'DELETE', path: `${admin}/toolServers/files`, scope: 'policies.write', who: leads },
  { method: 'GET', path: `${admin}/sidecars`, scope: 'policies.read', who: leads },
  { method: 'GET', path: `${admin}/workspacePolicy`, scope: 'policies.read', who: all },
  { method: 'PUT', path: `${admin}/workspacePolicy`, scope: 'policies.write', who: leads, body: {} },
  { method: 'DELETE', path: `${admin}/workspacePolicy`, scope: 'policies.write', who: leads },
  { method: 'GET', path: `${admin}/rolePolicies`, scope: 'policies.read', who: leads },
  { method: 'GET', path: `${admin}/rolePolicies/member`, scope: 'policies.read', who: all },
  { method: 'PUT', path: `${admin}/rolePolicies/member`, scope: 'policies.write', who: leads, body: {} },
  { method: 'DELETE', path: `${admin}/rolePolicies/member`, scope: 'policies.write', who: leads },
  { method: 'GET', path: `${admin}/agentTypePolicies`, scope: 'policies.read', who: leads },
  { method: 'GET', path: type, scope: 'policies.read', who: all },
  { method: 'PUT', path: type, scope: 'policies.write', who: leads, body: {} },
  { method: 'DELETE', path: type, scope: 'policies.write', who: leads },
  { method: 'GET', path: `${admin}/userPolicies/{uid}`, scope: 'policies.read', who: all },
  { method: 'PUT', path: `${admin}/userPolicies/{uid}`, scope: 'policies.write', who: all, body: {} },
  { method: 'DELETE', path: `${admin}/userPolicies/{uid}`, scope: 'policies.write', who: all },
  { method: 'GET', path: `${admin}/userPolicies/someone`, scope: 'policies.read', who: leads },
  { method: 'PUT', path: `${admin}/userPolicies/someone`, scope: 'policies.write', who: leads, body: {} },
  { method: 'DELETE', path: `${admin}/userPolicies/someone`, scope: 'policies.write', who: leads },
  { method: 'POST', path: `${admin}/explain`, scope: 'policies.read', who: all, body: question },
  { method: 'POST', path: `${admin}/explain`, scope: 'policies.read', who: leads, body: { ...question, role: undefined, sub: 'owner' } },
  { method: 'POST', path: `${admin}/redact/preview`, scope: 'policies.read', who: leads, body: { value: 'x' } },
  { method: 'POST', path: `${admin}/freeze`, scope: 'policies.write', who: leads },
  { method: 'POST', path: `${admin}/unfreeze`, scope: 'policies.write', who: leads },
  { method: 'GET', path: `${admin}/approvals`, scope: 'admin.approvals', who: all },
  { method: 'GET', path: `${admin}/approvals/absent`, scope: 'admin.approvals', who: all },
  { method: 'POST', path: `${admin}/approvals/absent/reveal`, scope: 'admin.approvals', who: all },
  { method: 'POST', path: `${admin}/approvals/absent/approve`, scope: 'admin.approvals', who: all, body: {} },
  { method: 'POST', path: `${admin}/approvals/absent/deny`, scope: 'admin.approvals', who: all, body: {} },
  { method: 'POST', path: `${admin}/approvals/absent/cancel`, scope: 'admin.approvals', who: all },
  { method: 'GET', path: `${admin}/audit`, scope: 'admin.audit.read', who: all },
  { method: 'GET', path: `${admin}/usage`, scope: 'admin.audit.read', who: all },
  { method: 'GET', path: `${admin}/events`, scope: 'admin.audit.read', who: leads },
  { method: 'GET', path: `${admin}/members`, scope: 'members.write', who: leads },
  {
    method: 'POST',
    path: `${admin}/members`,
    scope: 'members.write',
    who: leads,
    gives: ofMembers,
    body: { uid: 'dup', email: 'a@b', role: 'member' },
  },
  { method: 'GET', path: `${admin}/members/owner`, scope: 'members.write', who: leads },
  { method: 'PATCH', path: `${admin}/members/bystander`, scope: 'members.write', who: leads, body: {} },
  { method: 'DELETE', path: `${admin}/members/absent`, scope: 'members.write', who: leads },
  { method: 'GET', path: `${admin}/keys`, scope: 'keys.write', who: leads },
  { method: 'POST', path: `${admin}/keys`, scope: 'keys.write', who: leads, body: { name: 'x', scopes: ['keys.write'] } },
  { method: 'DELETE', path: `${admin}/keys/absent`, scope: 'keys.write', who: leads },
  { method: 'POST', path: `${admin}/keys/absent/rotate`, scope: 'keys.write', who: leads },
];

let rest: Rest;
const keys = new Map<string, string>();
const sessions = new Map<Role, { readonly cookie: string; readonly csrf: string }>();
beforeAll(async () => {
  rest = await createRest();
  await rest.keyOf('member', ['*'], 'bystander');
  for (const role of all) {
    const key = await rest.keyOf(role);
    keys.set(`${role} *`, key);
    const opened = await rest.ask('POST', '/acme/admin/session', { key });
    sessions.set(role, { cookie: String(opened.headers['set-cookie']).split(';', 1)[0] ?? '', csrf: field(opened, 'csrf') });
  }
});
afterAll(() => rest.close());

async function statusOf(row: Row, role: Role, key: string | null, headers: Readonly<Record<string, string>> = {}): Promise<number> {
  const path = row.path.replace('{uid}', `${role}-1`).replace('{id}', row.path.includes('{id}') ? await rest.createAgent() : '');
  return (await rest.ask(row.method, path, { key, headers, body: row.body })).status;
}

describe.each(rows)('$method $path', (row) => {
  test.each(all)('with all scopes as %s', async (role) => {
    const status = await statusOf(row, role, keys.get(`${role} *`) ?? '');
    if (row.who.includes(role)) expect([200, 400, 404, 409]).toContain(status);
    else expect(status).toBe(403);
  });

  test('its scope alone suffices, and no other scope does', async () => {
    const needed = await rest.keyOf('owner', [row.scope, ...(row.gives ?? [])]);
    expect([200, 400, 404, 409]).toContain(await statusOf(row, 'owner', needed));
    const others = (
      [
        'agents.read',
        'agents.write',
        'admin.approvals',
        'admin.audit.read',
        'policies.read',
        'policies.write',
        'members.write',
        'keys.write',
        'govern',
        'govern.impersonate',
        'sidecar.sync',
      ] as const
    ).filter((scope) => scope !== row.scope);
    const lacking = await rest.keyOf('owner', others);
    expect(await statusOf(row, 'owner', lacking)).toBe(403);
  });

  test.each(all)('the same holds for a session with all scopes as %s, and no change is made without its csrf value', async (role) => {
    const { cookie, csrf } = sessions.get(role) ?? { cookie: '', csrf: '' };
    const changes = row.method !== 'GET';
    if (changes) expect(await statusOf(row, role, null, { cookie })).toBe(403);
    const status = await statusOf(row, role, null, { cookie, ...(changes ? { 'x-csrf-token': csrf } : {}) });
    if (row.who.includes(role)) expect([200, 400, 404, 409]).toContain(status);
    else expect(status).toBe(403);
  });

  test('a key of another workspace reaches nothing', async () => {
    const status = await statusOf(row, 'owner', rest.other);
    if (row.path.startsWith('/acme')) expect(status).toBe(403);
    else expect(status).toBe(row.path.includes('{id}') ? 404 : 200);
  });
});

test('the agents of another workspace are not in the list', async () => {
  await rest.createAgent({ name: 'ours' });
  expect(JSON.stringify((await rest.ask('GET', '/api/v1/agents', { key: rest.other })).body)).not.toContain('ours');
});
