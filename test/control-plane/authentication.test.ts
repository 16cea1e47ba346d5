import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { makeSecret } from '../../control-plane/access/rules/key.ts';
import { createRest, errorOf, field, type Rest } from './rest.ts';

let rest: Rest;
beforeAll(async () => {
  rest = await createRest();
});
afterAll(() => rest.close());
// Of each test, the failed keys of those before are a minute ago.
beforeEach(() => {
  rest.clock.now = new Date(rest.clock.now.getTime() + 61_000);
});

const paths = ['/api/v1/agents', '/acme/admin/workspacePolicy', '/acme/admin/audit', '/acme/admin/keys'];
const ask = (path: string, authorization?: string) =>
  rest.ask('GET', path, { key: null, headers: authorization === undefined ? {} : { authorization } });

describe.each(paths)('%s', (path) => {
  test('a missing key is 401', async () => {
    const answer = await ask(path);
    expect(answer.status).toBe(401);
    expect(answer.headers['www-authenticate']).toBe('Bearer');
    expect(Object.keys(Object(answer.body))).toEqual(['error']);
  });

  test.each([
    ['no scheme', (key: string) => key],
    ['another scheme', (key: string) => `Basic ${key}`],
    ['no key', () => 'Bearer '],
    ['another prefix', (key: string) => `Bearer ${key.replace('gsk_', 'sk_')}`],
    ['a character less', (key: string) => `Bearer ${key.slice(0, -1)}`],
    ['a character more', (key: string) => `Bearer ${key}a`],
    ['another workspace in it', (key: string) => `Bearer ${key.replace('_acme_', '_other_')}`],
    ['a workspace that never was', (key: string) => `Bearer ${key.replace('_acme_', '_absent_')}`],
    ['something after it', (key: string) => `Bearer ${key} x`],
    ['an unknown one', () => `Bearer gsk_acme_${'a'.repeat(40)}`],
    ['a short one', () => 'Bearer gsk_acme_abc'],
    ['SQL', () => "Bearer gsk_acme_' or 1=1 --"],
  ])('a key with %s is 401', async (_, of) => {
    expect(await ask(path, of(rest.owner))).toMatchObject({ status: 401, body: { error: expect.any(String) } });
  });

  test('the scheme is not case-sensitive', async () => {
    expect((await ask(path, `bearer ${rest.owner}`)).status).toBe(200);
  });
});

test('a revoked key is 401 immediately', async () => {
  const made = await rest.ask('POST', '/acme/admin/keys', { body: { name: 'x', scopes: ['*'] } });
  const key = field(made, 'key');
  expect((await rest.ask('GET', '/api/v1/agents', { key })).status).toBe(200);
  await rest.ask('DELETE', `/acme/admin/keys/${field(made, 'id')}`);
  expect((await rest.ask('GET', '/api/v1/agents', { key })).status).toBe(401);
});

test('an expired key is 401 from its instant on', async () => {
  const start = rest.clock.now;
  const expiresAt = start.getTime() + 60_000;
  const body = { name: 'x', scopes: ['*'], expiresAt: new Date(expiresAt).toISOString().replace('Z', '+00:00') };
  const key = field(await rest.ask('POST', '/acme/admin/keys', { body }), 'key');
  rest.clock.now = new Date(expiresAt - 1);
  expect((await rest.ask('GET', '/api/v1/agents', { key })).status).toBe(200);
  rest.clock.now = new Date(expiresAt);
  expect((await rest.ask('GET', '/api/v1/agents', { key })).status).toBe(401);
  rest.clock.now = start;
});

test('the own key and the made service keys of a member who leaves end, and a return restores none', async () => {
  const admin = await rest.keyOf('admin', ['*'], 'leaver');
  const service = field(await rest.ask('POST', '/acme/admin/keys', { key: admin, body: { name: 's', scopes: ['agents.read'] } }), 'key');
  expect((await rest.ask('GET', '/api/v1/agents', { key: service })).status).toBe(200);
  await rest.ask('DELETE', '/acme/admin/members/leaver');
  await rest.ask('POST', '/acme/admin/members', { body: { uid: 'leaver', email: 'l@acme.test', role: 'admin' } });
  for (const key of [admin, service]) expect((await rest.ask('GET', '/api/v1/agents', { key })).status).toBe(401);
});

test('a service key has the current role of its maker', async () => {
  const admin = await rest.keyOf('admin', ['*'], 'falling');
  const service = field(await rest.ask('POST', '/acme/admin/keys', { key: admin, body: { name: 's', scopes: ['*'] } }), 'key');
  expect((await rest.ask('GET', '/acme/admin/members', { key: service })).status).toBe(200);
  await rest.ask('PATCH', '/acme/admin/members/falling', { body: { role: 'member' } });
  expect((await rest.ask('GET', '/acme/admin/members', { key: service })).status).toBe(403);
});

test('another workspace in the path is 403, whether it exists or not', async () => {
  for (const path of [
    '/other/admin/workspacePolicy',
    '/absent/admin/workspacePolicy',
    '/acm/admin/audit',
    '/ACME/admin/audit',
    '/%00/admin/audit',
  ]) {
    expect(await rest.ask('GET', path)).toMatchObject({ status: 403, body: { error: 'this key belongs to a different workspace' } });
  }
});

test('401 comes before 403, and both before a body is read', async () => {
  const headers = { 'content-type': 'application/json' };
  expect((await rest.ask('PUT', '/other/admin/workspacePolicy', { key: null, body: '{', headers })).status).toBe(401);
  expect((await rest.ask('PUT', '/other/admin/workspacePolicy', { body: '{', headers })).status).toBe(403);
  const reader = await rest.keyOf('member', ['policies.read']);
  expect((await rest.ask('PUT', '/acme/admin/workspacePolicy', { key: reader, body: '{', headers })).status).toBe(403);
});

test('only the hash of a key is in the database, and no key in a log or an error', async () => {
  const made = await rest.ask('POST', '/acme/admin/keys', { body: { name: 'x', scopes: ['agents.read'] } });
  const key = field(made, 'key');
  await rest.ask('GET', '/acme/admin/members', { key });
  await rest.ask('GET', `/acme/admin/keys/${key}`, { key });
  const tables = ['api_key', 'admin_event', 'workspace', 'deployment', 'member'];
  for (const table of tables) {
    const { rows } = await rest.pool.query(`select coalesce(string_agg(t::text, ' '), '') as all_text from ${table} t`);
    expect(JSON.stringify(rows)).not.toContain(key.slice(9, -4));
  }
  expect(rest.lines.join('')).not.toContain(key.slice(9, -4));
  expect(rest.lines.join('').toLowerCase()).not.toContain('authorization');
});

test('a key is gsk_<slug>_ and 40 letters and digits, each equally likely', () => {
  const counts = new Map<string, number>();
  // Every byte in turn, one at a time: bytes that would favour some letters are discarded.
  let at = -1;
  const bytes = () => Uint8Array.of((at = (at + 1) % 256));
  for (let n = 0; n < 62 * 4; n += 1) {
    const { key, last4 } = makeSecret(bytes, 'acme');
    expect(key).toMatch(/^gsk_acme_[A-Za-z0-9]{40}$/);
    expect(key.endsWith(last4)).toBe(true);
    for (const letter of key.slice(9)) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  }
  expect(counts.size).toBe(62);
  expect(Math.max(...counts.values()) - Math.min(...counts.values())).toBeLessThanOrEqual(4);
});

test('the error of a refused scope names it', async () => {
  const key = await rest.keyOf('member', ['agents.read']);
  const answer = await rest.ask('POST', '/api/v1/agents', { key, body: { name: 'x', model: 'y' } });
  expect(answer.status).toBe(403);
  expect(errorOf(answer)).toContain('agents.write');
});
