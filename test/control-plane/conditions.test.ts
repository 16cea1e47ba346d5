// `If-Match`: a write succeeds only while its target is unchanged since the given revision, which every answer names.
import { Pool } from 'pg';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createApp } from '../../control-plane/http/app.ts';
import { type Answer, createRest, errorOf, field, type Rest } from './rest.ts';

let rest: Rest;
beforeAll(async () => {
  rest = await createRest();
});
afterAll(() => rest.close());

const admin = '/acme/admin';
const deny = { permission: 'deny' };
const typeUrl = (key: string) => `${admin}/agentTypePolicies/${encodeURIComponent(key)}`;

type Method = 'POST' | 'PUT' | 'PATCH' | 'DELETE';

const etagOf = ({ headers }: Answer): number => Number(/^"(\d+)"$/.exec(String(headers['etag']))?.[1]);
const present = async (): Promise<number> => etagOf(await rest.ask('GET', `${admin}/workspacePolicy`));

interface Thing {
  /** Creates it, and returns its path. */
  readonly make: () => Promise<string>;
  /** Changes it through that path. */
  readonly change: readonly [Method, string, unknown?];
  /** The same thing, changed in another way. */
  readonly otherwise?: readonly [Method, string, unknown?];
}

const document = (path: string, body: object = { mode: 'audit' }): Thing => ({
  make: async () => {
    await rest.ask('PUT', path, { body: { defaults: { api: deny } } });
    return path;
  },
  change: ['PUT', '', body],
  otherwise: ['DELETE', ''],
});
const section = (name: string, key: string): readonly ['POST', string, unknown] => [
  'POST',
  `${admin}/policies/apply`,
  { [name]: { [key]: { defaults: { background: deny } } } },
];
const things: readonly (readonly [string, Thing])[] = [
  ['an agent, PUT', { make: async () => `/api/v1/agents/${await rest.createAgent()}`, change: ['PUT', '', { icon: 'x' }] }],
  ['an agent, PATCH', { make: async () => `/api/v1/agents/${await rest.createAgent()}`, change: ['PATCH', '', { icon: 'x' }] }],
  [
    'an agent, DELETE',
    { make: async () => `/api/v1/agents/${await rest.createAgent()}`, change: ['DELETE', ''], otherwise: ['PUT', '', { icon: 'x' }] },
  ],
  ['the workspace document, PUT', document(`${admin}/workspacePolicy`)],
  ['the workspace document, DELETE', { ...document(`${admin}/workspacePolicy`), change: ['DELETE', ''], otherwise: ['PUT', '', {}] }],
  ['a role document', document(`${admin}/rolePolicies/member`)],
  ['an agent-type document', document(typeUrl('cc::api::'))],
  ['a user document', document(`${admin}/userPolicies/someone`)],
  [
    'a document that apply changes',
    {
      make: async () => {
        await rest.ask('PUT', `${admin}/rolePolicies/owner`, { body: { mode: 'audit' } });
        return `${admin}/rolePolicies/owner`;
      },
      change: section('rolePolicies', 'owner'),
      otherwise: ['PUT', '', { mode: 'enforce' }],
    },
  ],
  [
    'a member',
    {
      make: async () => {
        const uid = `m${await present()}`;
        await rest.ask('POST', `${admin}/members`, { body: { uid, email: `${uid}@acme.test`, role: 'member' } });
        return `${admin}/members/${uid}`;
      },
      change: ['PATCH', '', { role: 'admin' }],
    },
  ],
  [
    'a member who is removed',
    {
      make: async () => {
        const uid = `m${await present()}`;
        await rest.ask('POST', `${admin}/members`, { body: { uid, email: `${uid}@acme.test`, role: 'member' } });
        return `${admin}/members/${uid}`;
      },
      change: ['DELETE', ''],
      otherwise: ['PATCH', '', { role: 'admin' }],
    },
  ],
  [
    'a key that is rotated',
    { make: async () => `${admin}/keys/${field(await issueKey(), 'id')}`, change: ['POST', '/rotate'], otherwise: ['POST', '/rotate'] },
  ],
  [
    'a key that is revoked',
    { make: async () => `${admin}/keys/${field(await issueKey(), 'id')}`, change: ['DELETE', ''], otherwise: ['POST', '/rotate'] },
  ],
  ['the brake', { make: async () => `${admin}/`, change: ['POST', 'freeze'], otherwise: ['POST', 'unfreeze'] }],
];

const issueKey = () => rest.ask('POST', `${admin}/keys`, { body: { name: 'k', scopes: ['policies.read'] } });

function send(at: string, [method, path, body]: readonly [Method, string, unknown?], ifMatch?: string): Promise<Answer> {
  return rest.ask(method, path.startsWith('/acme') ? path : at + path, {
    ...(body === undefined ? {} : { body }),
    ...(ifMatch === undefined ? {} : { headers: { 'if-match': ifMatch } }),
  });
}

const trace = async () =>
  (
    await rest.pool.query<{ all: string }>(
      `select json_build_array(
         (select json_agg(w order by id) from workspace w), (select json_agg(a order by id) from agent a), (select json_agg(m order by uid) from member m),
         (select json_agg(k order by id) from api_key k), (select json_agg(d order by layer, key, part) from policy_document d),
         (select count(*) from policy_history), (select count(*) from admin_event))::text as all`,
    )
  ).rows[0]?.all;

describe.each(things)('%s', (_, { make, change, otherwise = change }) => {
  test('that was changed since is not changed: 412, and nothing of the write is stored', async () => {
    const at = await make();
    const seen = await present();
    expect((await send(at, otherwise)).status).toBe(200);
    const before = await trace();
    const answer = await send(at, change, `"${seen}"`);
    expect(answer.status).toBe(412);
    expect(errorOf(answer)).toContain(`revision ${seen + 1}`);
    expect(await trace()).toBe(before);
  });

  test('is changed where only other things were changed since', async () => {
    const at = await make();
    const seen = await present();
    await rest.createAgent();
    await rest.ask('PUT', typeUrl('other::api::'), { body: { mode: 'audit' } });
    expect(await send(at, change, String(seen))).toMatchObject({ status: 200, body: { ok: true, revision: seen + 3 } });
  });

  test('of two writers with the same If-Match at once exactly one wins', async () => {
    const at = await make();
    const seen = `"${await present()}"`;
    const answers = await Promise.all([send(at, change, seen), send(at, otherwise, seen)]);
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    // A deleted thing is 404 or 412, for every writer and condition.
    expect([404, 412]).toContain(statuses.find((status) => status !== 200));
  });
});

describe('what a write changes', () => {
  test('is each document that an apply changes, and none of the others', async () => {
    await rest.ask('POST', `${admin}/policies/apply`, { body: { rolePolicies: { owner: { mode: 'audit' }, admin: { mode: 'audit' } } } });
    const seen = await present();
    await rest.ask('PUT', `${admin}/rolePolicies/admin`, { body: { mode: 'enforce' } });
    const apply = (rolePolicies: object, dryRun = false) =>
      rest.ask('POST', `${admin}/policies/apply`, { body: { rolePolicies, dryRun }, headers: { 'if-match': `"${seen}"` } });
    // It would remove admin's, and would restore an old one.
    expect((await apply({ owner: { mode: 'enforce' } })).status).toBe(412);
    expect((await apply({ owner: { mode: 'audit' }, admin: { mode: 'audit' } })).status).toBe(412);
    expect((await apply({ owner: { mode: 'audit' } }, true)).status).toBe(412);
    // It does not change admin's, which the other writer wrote.
    expect(await apply({ owner: { mode: 'enforce' }, admin: { mode: 'enforce' } })).toMatchObject({
      status: 200,
      body: { changes: [{ document: 'role:owner' }] },
    });
  });

  test('is each document that a rollback changes', async () => {
    await rest.ask('PUT', `${admin}/rolePolicies/admin`, { body: { mode: 'audit' } });
    const seen = await present();
    await rest.ask('PUT', `${admin}/rolePolicies/admin`, { body: { mode: 'enforce' } });
    const back = (ifMatch: number) =>
      rest.ask('POST', `${admin}/policies/rollback`, { body: { revision: seen }, headers: { 'if-match': `"${ifMatch}"` } });
    expect((await back(seen)).status).toBe(412);
    expect((await back(seen + 1)).status).toBe(200);
  });

  test("is a member's policy where the member is removed, also by the member", async () => {
    const key = await rest.keyOf('member', ['*'], 'mover');
    const url = `${admin}/userPolicies/mover`;
    const seen = await present();
    await rest.ask('PUT', url, { key, body: { defaults: { api: deny } } });
    const remove = (ifMatch: number) => rest.ask('DELETE', `${admin}/members/mover`, { headers: { 'if-match': `"${ifMatch}"` } });
    expect((await remove(seen)).status).toBe(412);
    expect((await remove(seen + 1)).status).toBe(200);
    const put = await rest.ask('DELETE', url, { headers: { 'if-match': `"${seen + 1}"` } });
    expect(put.status).toBe(412);
  });

  test("is the writer's own part of a user policy, not the other's", async () => {
    const key = await rest.keyOf('member', ['*'], 'parted');
    const url = `${admin}/userPolicies/parted`;
    const seen = `"${await present()}"`;
    await rest.ask('PUT', url, { key, body: { defaults: { api: deny } } });
    expect((await rest.ask('PUT', url, { body: { mode: 'audit' }, headers: { 'if-match': seen } })).status).toBe(200);
    expect((await rest.ask('PUT', url, { key, body: { mode: 'enforce' }, headers: { 'if-match': seen } })).status).toBe(412);
    expect((await rest.ask('DELETE', url, { headers: { 'if-match': seen } })).status).toBe(412);
  });

  test('is a uid that belonged to another member meanwhile', async () => {
    const seen = `"${await present()}"`;
    const body = { uid: 'reused', email: 'r@acme.test', role: 'member' };
    await rest.ask('POST', `${admin}/members`, { body });
    await rest.ask('DELETE', `${admin}/members/reused`);
    expect((await rest.ask('POST', `${admin}/members`, { body, headers: { 'if-match': seen } })).status).toBe(412);
  });

  test("is never another workspace's thing of the same name", async () => {
    const seen = `"${await present()}"`;
    for (let n = 0; n < 3; n += 1) await rest.ask('PUT', '/other/admin/workspacePolicy', { key: rest.other, body: { mode: 'audit' } });
    expect((await rest.ask('PUT', `${admin}/workspacePolicy`, { body: { mode: 'audit' }, headers: { 'if-match': seen } })).status).toBe(
      200,
    );
  });
});

test('a future revision is 412: no client has read it', async () => {
  const ahead = (await present()) + 1;
  for (const ifMatch of [ahead, 999_999_999_999_999]) {
    const asked = { headers: { 'if-match': String(ifMatch) } };
    const answer = await rest.ask('PUT', `${admin}/workspacePolicy`, { ...asked, body: { mode: 'audit' } });
    expect(answer.status).toBe(412);
    expect(errorOf(answer)).toContain('newer than the current revision');
    for (const [url, body] of [
      ['/api/v1/agents', { name: 'a', model: 'demo/echo' }],
      [`${admin}/keys`, { name: 'k', scopes: ['govern'] }],
      [`${admin}/members`, { uid: 'ahead', email: 'a@acme.test', role: 'member' }],
    ] as const)
      expect((await rest.ask('POST', url, { ...asked, body })).status).toBe(412);
  }
});

test.each([['*'], ['x'], ['-1'], ['1.5'], ['"1'], ['1"'], ['"1", "2"'], ['W/"1"'], ['""'], [' '], ['1e3'], ['9'.repeat(16)]])(
  'If-Match: %s is 400, and nothing is written',
  async (ifMatch) => {
    const before = await trace();
    const answer = await rest.ask('PUT', `${admin}/workspacePolicy`, { body: { mode: 'audit' }, headers: { 'if-match': ifMatch } });
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toContain('If-Match must be one revision');
    expect(await trace()).toBe(before);
  },
);

describe('ETag', () => {
  const reads = () => [
    '/api/v1/agents',
    `${admin}/workspacePolicy`,
    `${admin}/rolePolicies`,
    `${admin}/rolePolicies/member`,
    `${admin}/agentTypePolicies`,
    typeUrl('cc::api::'),
    `${admin}/userPolicies/someone`,
    `${admin}/policies`,
    `${admin}/policyHistory?limit=1`,
    `${admin}/members`,
    `${admin}/members/owner`,
    `${admin}/keys`,
    `${admin}/events?limit=1`,
  ];

  test('of every GET is the revision of the last write, and no condition is asked of a GET', async () => {
    const { body } = await rest.ask('PUT', `${admin}/workspacePolicy`, { body: { mode: 'audit' } });
    for (const url of [...reads(), `/api/v1/agents/${await rest.createAgent()}`]) {
      const answer = await rest.ask('GET', url, { headers: { 'if-match': 'whatever' } });
      expect(answer.status).toBe(200);
      expect(etagOf(answer)).toBeGreaterThanOrEqual(Object(body).revision);
    }
  });

  test('is never ahead of the content: a write in between is noticed', async () => {
    const url = `${admin}/rolePolicies/admin`;
    await rest.ask('PUT', url, { body: { defaults: { api: { rateLimit: 0 } } } });
    // Each adds one to the value that it read; a lost write would be missing at the end.
    const addOne = async (): Promise<void> => {
      for (let tries = 0; tries < 100; tries += 1) {
        const read = await rest.ask('GET', url);
        const rateLimit: number = Object(read.body).defaults.api.rateLimit + 1;
        const headers = { 'if-match': String(read.headers['etag']) };
        if ((await rest.ask('PUT', url, { body: { defaults: { api: { rateLimit } } }, headers })).status === 200) return;
      }
      throw new Error('never won');
    };
    await Promise.all(Array.from({ length: 8 }, addOne));
    expect((await rest.ask('GET', url)).body).toMatchObject({ defaults: { api: { rateLimit: 8 } } });
  });
});

test('merges of different tools at once, through two control planes, all survive', async () => {
  const pool = new Pool({ ...rest.pool.options, max: 5 });
  const app = createApp({ ...rest.deps, pool, registry: new Registry() });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const url = `${admin}/workspacePolicy`;
  const put = async (n: number): Promise<number> => {
    const body = { tools: { [`t.${n}`]: { api: deny } } };
    if (n % 2 === 0) return (await rest.ask('PUT', url, { body })).status;
    const headers = { authorization: `Bearer ${rest.owner}`, 'content-type': 'application/json' };
    return (await fetch(origin + url, { method: 'PUT', headers, body: JSON.stringify(body) })).status;
  };
  try {
    await rest.ask('DELETE', url);
    expect(await Promise.all(Array.from({ length: 20 }, (_, n) => put(n)))).toEqual(Array.from({ length: 20 }, () => 200));
    const { body } = await rest.ask('GET', url);
    expect(Object.keys(Object(body).tools).toSorted()).toEqual(Array.from({ length: 20 }, (_, n) => `t.${n}`).toSorted());
  } finally {
    await app.close();
    await pool.end();
  }
});
