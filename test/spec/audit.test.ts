// "Audit log", "Authentication", "Errors" and "Limits" of the API description, row by row.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRest, field, type Rest } from '../control-plane/rest.ts';
import { entry, records, ship, spool } from '../control-plane/spool.ts';
import { containing, row } from './row.ts';

let rest: Rest;
let keys: Readonly<Record<'member' | 'auditor' | 'admin' | 'reader', string>>;
const url = '/acme/admin/audit';

beforeAll(async () => {
  rest = await createRest();
  keys = {
    member: await rest.keyOf('member', ['agents.read', 'policies.read'], 'mia'),
    auditor: await rest.keyOf('member', ['admin.audit.read'], 'aud'),
    admin: await rest.keyOf('admin'),
    reader: await rest.keyOf('member', ['agents.read'], 'ron'),
  };
  const at = (secondsAgo: number) => ({ ts: new Date(rest.clock.now.getTime() - secondsAgo * 1000).toISOString() });
  await ship(
    rest,
    spool('a'),
    records(1, 3, (sequence) => entry({ tool: sequence === 2 ? 'b' : 'a', ...at(sequence * 60) })),
  );
  await ship(
    rest,
    spool('b'),
    records(1, 1, () => entry({ tool: 'old', ...at(3600) })),
  );
});
afterAll(() => rest.close());

const now = (): number => rest.clock.now.getTime();
const page = (fields: object) => ({ since: expect.any(String), limit: 200, ...fields });

row('GET /{workspace}/admin/audit', [
  {
    status: 200,
    when: 'newest first, of the last 15 minutes',
    ask: () => rest.ask('GET', url),
    body: page({ count: 3, since: new Date(now0()).toISOString(), entries: ['a', 'b', 'a'].map((tool) => containing({ tool })) }),
  },
  {
    status: 200,
    when: 'since a time',
    ask: () => rest.ask('GET', `${url}?since=${new Date(now() - 61_000).toISOString()}`),
    body: page({ count: 1, entries: [containing({ tool: 'a' })] }),
  },
  {
    status: 200,
    when: 'of a tool',
    ask: () => rest.ask('GET', `${url}?tool=b`),
    body: page({ count: 1, entries: [containing({ tool: 'b' })] }),
  },
  {
    status: 200,
    when: 'at most limit',
    ask: () => rest.ask('GET', `${url}?limit=1`),
    body: page({ count: 1, limit: 1, entries: [expect.anything()], next: expect.any(String) }),
  },
  {
    status: 200,
    when: 'limit clamped to 1 from below',
    ask: () => rest.ask('GET', `${url}?limit=0`),
    body: page({ count: 1, limit: 1, entries: [expect.anything()], next: expect.any(String) }),
  },
  {
    status: 200,
    when: 'limit clamped to 1000 from above',
    ask: () => rest.ask('GET', `${url}?limit=5000`),
    body: page({ count: 3, limit: 1000, entries: expect.any(Array) }),
  },
  ...[
    'limit=0x10',
    'limit=1e3',
    'limit=1.5',
    'limit=',
    'limit=1&limit=2',
    'since=2026-02-30',
    'since=yesterday',
    'since=1782388800',
    'colour=red',
  ].map((query) => ({
    status: 400,
    when: `for ${query}`,
    ask: () => rest.ask('GET', `${url}?${query}`),
  })),
  { status: 401, when: 'without a key', ask: () => rest.ask('GET', url, { key: null }) },
  {
    status: 200,
    when: 'with the scope admin.audit.read, whatever the role',
    ask: () => rest.ask('GET', url, { key: keys.auditor }),
    body: page({ count: 3, entries: expect.any(Array) }),
  },
  {
    status: 200,
    when: 'with the scope *',
    ask: () => rest.ask('GET', url, { key: keys.admin }),
    body: page({ count: 3, entries: expect.any(Array) }),
  },
  { status: 403, when: 'without that scope', ask: () => rest.ask('GET', url, { key: keys.member }) },
  { status: 403, when: 'with a key of another workspace', ask: () => rest.ask('GET', url, { key: rest.other }) },
]);

/** The default `since`, before the clock of the test exists. */
function now0(): number {
  return Date.parse('2026-06-25T12:00:00.000Z') - 15 * 60_000;
}

describe('an entry', () => {
  test.each([
    ['id', 'string'],
    ['tool', 'string'],
    ['decision', 'string'],
    ['decisionReason', 'string'],
    ['agentName', 'string'],
    ['agentTier', 'string'],
    ['sub', 'string'],
    ['userEmail', 'string'],
    ['sessionId', 'string'],
    ['requestId', 'string'],
    ['ts', 'string'],
    ['hookEvent', 'string'],
    ['client', 'object'],
    ['depth', 'number'],
  ])('has %s, a %s', async (name, type) => {
    const { entries } = (await rest.ask('GET', url)).body as { readonly entries: readonly Readonly<Record<string, unknown>>[] };
    for (const one of entries) expect(typeof one[name]).toBe(type);
  });
});

describe('authentication', () => {
  test('the key is sent as Authorization: Bearer, and nothing else is accepted', async () => {
    for (const authorization of [rest.owner, `Basic ${rest.owner}`, `Bearer${rest.owner}`, 'Bearer '])
      expect(await rest.ask('GET', '/api/v1/agents', { key: null, headers: { authorization } })).toMatchObject({ status: 401 });
  });
  test('a key is gsk_<workspace>_<random>', () => {
    expect(rest.owner).toMatch(/^gsk_acme_[A-Za-z0-9]{40}$/);
  });
  test('the Agents surface resolves the workspace from the key', async () => {
    await rest.createAgent();
    expect((await rest.ask('GET', '/api/v1/agents', { key: rest.other })).body).toEqual({ ok: true, profiles: [] });
  });
  test('on the Governance surface the path must name the workspace of the key', async () => {
    expect(await rest.ask('GET', '/other/admin/workspacePolicy')).toMatchObject({ status: 403 });
    expect(await rest.ask('GET', '/nowhere/admin/workspacePolicy')).toMatchObject({ status: 403 });
  });
  test('scopes limit what a key may do', async () => {
    expect(await rest.ask('GET', '/api/v1/agents', { key: keys.reader })).toMatchObject({ status: 200 });
    expect(await rest.ask('DELETE', `/api/v1/agents/${'A'.repeat(20)}`, { key: keys.reader })).toMatchObject({ status: 403 });
  });
  test('a revoked key is 401 on the next request', async () => {
    const made = await rest.ask('POST', '/acme/admin/keys', { body: { name: 'k', scopes: ['*'] } });
    const key = field(made, 'key');
    expect(await rest.ask('GET', '/api/v1/agents', { key })).toMatchObject({ status: 200 });
    await rest.ask('DELETE', `/acme/admin/keys/${field(made, 'id')}`);
    expect(await rest.ask('GET', '/api/v1/agents', { key })).toMatchObject({ status: 401 });
  });
});

describe('errors', () => {
  test.each([
    [400, 'GET', '/acme/admin/audit?limit=x'],
    [401, 'GET', '/acme/admin/audit'],
    [403, 'GET', '/other/admin/audit'],
    [404, 'GET', `/api/v1/agents/${'A'.repeat(20)}`],
    [404, 'GET', '/no/such/path'],
    [405, 'POST', '/acme/admin/audit'],
  ] as const)('%i has the body {error: <reason>}', async (status, method, path) => {
    const answer = await rest.ask(method, path, status === 401 ? { key: null } : {});
    expect(answer).toMatchObject({ status, body: { error: expect.stringMatching(/.+/) } });
  });
});
