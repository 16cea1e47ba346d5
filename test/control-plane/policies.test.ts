import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createRest, errorOf, type Rest } from './rest.ts';

let rest: Rest;
beforeAll(async () => {
  rest = await createRest();
});
afterAll(() => rest.close());

const admin = '/acme/admin';
const typeUrl = (key: string) => `${admin}/agentTypePolicies/${encodeURIComponent(key)}`;
const longest = `${'🙂'.repeat(100)}::background::${'/'.repeat(200)}`;
const documents = [
  [`${admin}/workspacePolicy`],
  [`${admin}/rolePolicies/owner`],
  [`${admin}/rolePolicies/admin`],
  [`${admin}/rolePolicies/member`],
  [typeUrl('claude-code::interactive::reviewer')],
  [typeUrl('claude-code::api::')],
  [typeUrl('a/b::api::100%25 sure? #1 & more::still the name')],
  [typeUrl(longest)],
  [`${admin}/userPolicies/someone@acme.test`],
] as const;

const deny = { permission: 'deny' };

describe.each(documents)('%s', (url) => {
  beforeEach(async () => {
    await rest.ask('DELETE', url);
  });

  test('is {} while nothing is set', async () => {
    expect(await rest.ask('GET', url)).toMatchObject({ status: 200, body: {} });
    expect((await rest.ask('GET', url)).body).toEqual({});
  });

  test('a GET returns what a PUT stored, modes and inert tiers as sent', async () => {
    const document = {
      mode: 'audit',
      defaults: { interactive: { permission: 'allow', rateLimit: 0, transform: 'log' }, later: { transform: 'redact' } },
      tools: {
        'github.*': { api: { permission: 'deny', rateLimit: 2_147_483_647 } },
        constructor: { background: deny },
        toString: { prototype: deny },
      },
    };
    const put = await rest.ask('PUT', url, { body: document });
    expect(put).toMatchObject({ status: 200, body: { ok: true, revision: expect.any(Number) } });
    expect((await rest.ask('GET', url)).body).toMatchObject(document);
  });

  test('DELETE removes it, and a second DELETE is ok too', async () => {
    await rest.ask('PUT', url, { body: { defaults: { api: deny } } });
    for (let n = 0; n < 2; n += 1) expect(await rest.ask('DELETE', url)).toMatchObject({ status: 200, body: { ok: true } });
    expect((await rest.ask('GET', url)).body).toEqual({});
  });

  test('an invalid document is refused completely with every place, and nothing is stored', async () => {
    const body = {
      mode: 'off',
      defaults: { api: { permission: 'maybe' } },
      tools: { 'a.b': { api: { rateLimit: -1, transform: 'hide' } }, ' blank': {} },
      surprise: 1,
    };
    const answer = await rest.ask('PUT', url, { body });
    expect(answer.status).toBe(400);
    for (const place of [
      'mode',
      'defaults.api.permission',
      'tools["a.b"].api.rateLimit',
      'tools["a.b"].api.transform',
      'tools[" blank"]',
      'surprise',
    ]) {
      expect(errorOf(answer)).toContain(place);
    }
    expect(answer.body).toMatchObject({ details: expect.any(Array) });
    expect((await rest.ask('GET', url)).body).toEqual({});
  });

  test.each([['null'], ['[]'], ['"x"'], ['1'], ['']])('a body of %j is 400', async (body) => {
    expect((await rest.ask('PUT', url, { body, headers: { 'content-type': 'application/json' } })).status).toBe(400);
  });

  test('another workspace sees nothing of it', async () => {
    await rest.ask('PUT', url, { body: { defaults: { api: deny } } });
    expect((await rest.ask('GET', url.replace('/acme/', '/other/'), { key: rest.other })).body).toEqual({});
    await rest.ask('DELETE', url.replace('/acme/', '/other/'), { key: rest.other });
    expect((await rest.ask('GET', url)).body).toMatchObject({ defaults: { api: deny } });
  });
});

describe.each([[`${admin}/workspacePolicy`], [`${admin}/rolePolicies/member`], [`${admin}/userPolicies/someone`]])('%s merges', (url) => {
  test('as RFC 7396: objects merge, null removes, arrays and scalars replace', async () => {
    await rest.ask('DELETE', url);
    await rest.ask('PUT', url, {
      body: { mode: 'enforce', defaults: { api: { permission: 'deny', rateLimit: 5 } }, tools: { a: { api: deny }, b: { api: deny } } },
    });
    await rest.ask('PUT', url, { body: { mode: null, defaults: { api: { rateLimit: null }, background: deny }, tools: { a: null } } });
    expect((await rest.ask('GET', url)).body).toMatchObject({
      defaults: { api: { permission: 'deny' }, background: deny },
      tools: { b: { api: deny } },
    });
    const text = JSON.stringify((await rest.ask('GET', url)).body);
    for (const gone of ['rateLimit', '"a"', 'mode']) expect(text).not.toContain(gone);
  });

  test('a document that is invalid only after the merge is refused', async () => {
    await rest.ask('PUT', url, { body: { defaults: { api: deny } } });
    expect((await rest.ask('PUT', url, { body: { defaults: { api: 'deny' } } })).status).toBe(400);
    expect((await rest.ask('GET', url)).body).toMatchObject({ defaults: { api: deny } });
  });
});

test('PUT of an agent type replaces', async () => {
  const url = typeUrl('claude-code::api::replaced');
  await rest.ask('PUT', url, { body: { defaults: { api: deny } } });
  await rest.ask('PUT', url, { body: { tools: { a: { api: deny } } } });
  expect((await rest.ask('GET', url)).body).toEqual({ tools: { a: { api: deny } } });
  // A PUT replaces, so null has nothing to remove.
  expect((await rest.ask('PUT', url, { body: { mode: null } })).status).toBe(400);
});

test('a write that tightens something answers with the overrides that still loosen it', async () => {
  const fresh = await createRest();
  try {
    const exception = { api: { permission: 'allow', override: true } };
    await fresh.ask('PUT', `${admin}/rolePolicies/member`, { body: { tools: { 'github.*': exception } } });
    await fresh.ask('PUT', `${admin}/rolePolicies/admin`, { body: { tools: { override: { api: deny } } } });
    const tightened = await fresh.ask('PUT', `${admin}/workspacePolicy`, { body: { tools: { 'github.push': { api: deny } } } });
    expect(tightened).toMatchObject({
      status: 200,
      body: { ok: true, overrides: [{ document: 'role:member', path: 'tools["github.*"].api', rule: exception.api }] },
    });
    const same = await fresh.ask('PUT', `${admin}/workspacePolicy`, { body: { tools: { 'github.push': { api: deny } } } });
    expect(same.body).toEqual({ ok: true, revision: 4 });
  } finally {
    await fresh.close();
  }
});

test('the lists map role and key to document', async () => {
  const fresh = await createRest();
  try {
    expect((await fresh.ask('GET', `${admin}/rolePolicies`)).body).toEqual({});
    expect((await fresh.ask('GET', `${admin}/agentTypePolicies`)).body).toEqual({});
    await fresh.ask('PUT', `${admin}/rolePolicies/admin`, { body: { defaults: { api: deny } } });
    await fresh.ask('PUT', typeUrl(longest), { body: { mode: 'audit-only' } });
    expect((await fresh.ask('GET', `${admin}/rolePolicies`)).body).toEqual({ admin: { defaults: { api: deny } } });
    expect((await fresh.ask('GET', `${admin}/agentTypePolicies`)).body).toEqual({ [longest]: { mode: 'audit-only' } });
  } finally {
    await fresh.close();
  }
});

describe('an agent-type key in the path', () => {
  test('is decoded exactly once', async () => {
    await rest.ask('PUT', `${admin}/agentTypePolicies/x%3A%3Aapi%3A%3Aa%252Fb`, { body: { mode: 'audit' } });
    await rest.ask('PUT', `${admin}/agentTypePolicies/x::api::a%2Fb`, { body: { mode: 'enforce' } });
    expect((await rest.ask('GET', `${admin}/agentTypePolicies`)).body).toMatchObject({
      'x::api::a%2Fb': { mode: 'audit' },
      'x::api::a/b': { mode: 'enforce' },
    });
    expect((await rest.ask('GET', typeUrl('x::api::a%2Fb'))).body).toEqual({ mode: 'audit' });
  });

  test.each([['nonsense'], ['a::b'], ['a::nightly::c'], ['::api::c'], ['a::api::\0'], ['a::api:: '], [`a::api::${'n'.repeat(201)}`]])(
    '%j is 400',
    async (key) => {
      for (const method of ['GET', 'DELETE'] as const) expect((await rest.ask(method, typeUrl(key))).status).toBe(400);
      expect((await rest.ask('PUT', typeUrl(key), { body: {} })).status).toBe(400);
    },
  );

  test('an invalid encoding is 400', async () => {
    for (const key of ['%', '%zz', 'a%3A%3Aapi%3A%3A%ff']) {
      const answer = await rest.ask('GET', `${admin}/agentTypePolicies/${key}`);
      expect(answer.status).toBe(400);
      expect(errorOf(answer)).not.toBe('');
    }
  });
});

test.each([['Owner'], ['root'], ['__proto__'], ['constructor'], ['%00'], ['*']])('the role %j is 400', async (role) => {
  for (const method of ['GET', 'DELETE'] as const) expect((await rest.ask(method, `${admin}/rolePolicies/${role}`)).status).toBe(400);
  expect((await rest.ask('PUT', `${admin}/rolePolicies/${role}`, { body: {} })).status).toBe(400);
});

test('each write stores its result, under the revision that it answered with', async () => {
  const fresh = await createRest();
  try {
    const url = `${admin}/workspacePolicy`;
    await fresh.ask('PUT', url, { body: { mode: 'audit' } });
    await fresh.ask('PUT', url, { body: { mode: 'enforce' } });
    const { body } = await fresh.ask('DELETE', url);
    const { rows } = await fresh.pool.query('select revision, document, sub from policy_history order by revision');
    expect(rows).toEqual([
      { revision: '1', document: { mode: 'audit' }, sub: 'owner' },
      { revision: '2', document: { mode: 'enforce' }, sub: 'owner' },
      { revision: '3', document: null, sub: 'owner' },
    ]);
    expect(body).toEqual({ ok: true, revision: 3 });
  } finally {
    await fresh.close();
  }
});

test('concurrent writes of one workspace each get a revision of their own and none is lost', async () => {
  const fresh = await createRest();
  try {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        fresh.ask('PUT', `${admin}/workspacePolicy`, { body: { tools: { [`t.${n}`]: { api: deny } } } }),
      ),
    );
    expect(answers.map(({ body }) => Number(Object(body).revision)).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 20 }, (_, n) => n + 1),
    );
    expect(Object.keys(Object(Object((await fresh.ask('GET', `${admin}/workspacePolicy`)).body).tools))).toHaveLength(20);
  } finally {
    await fresh.close();
  }
});

test('freeze and unfreeze are recorded and raise the revision', async () => {
  const frozen = async () =>
    (await rest.pool.query<{ frozen: boolean }>(`select frozen from workspace where slug = 'acme'`)).rows[0]?.frozen;
  expect(await rest.ask('POST', `${admin}/freeze`)).toMatchObject({ status: 200, body: { ok: true, revision: expect.any(Number) } });
  expect(await frozen()).toBe(true);
  await rest.ask('POST', `${admin}/unfreeze`);
  expect(await frozen()).toBe(false);
  expect((await rest.ask('GET', `${admin}/events?limit=2`)).body).toMatchObject({
    events: [{ action: 'workspace.unfreeze' }, { action: 'workspace.freeze' }],
    next: expect.any(String),
  });
});

describe('explain', () => {
  const question = { role: 'member', agentType: 'claude-code::api::', tier: 'api', tool: 'github.delete_repo' };
  const ask = (body: unknown) => rest.ask('POST', `${admin}/explain`, { body });

  test('returns the decision, the reason, and the layers that made it', async () => {
    for (const [url] of documents) await rest.ask('DELETE', url);
    await rest.ask('PUT', `${admin}/rolePolicies/member`, { body: { tools: { 'github.*': { api: deny } } } });
    expect(await ask(question)).toMatchObject({
      status: 200,
      body: { decision: 'deny', enforced: { permission: 'deny' }, shadow: {}, layers: expect.any(Array) },
    });
    await rest.ask('DELETE', `${admin}/rolePolicies/member`);
    expect((await ask(question)).body).toMatchObject({ decision: 'allow', enforced: { permission: 'allow' } });
  });

  test.each([
    ['no subject', { ...question, role: undefined }],
    ['two subjects', { ...question, sub: 'owner' }],
    ['an unknown subject', { ...question, role: undefined, sub: 'absent' }],
    ['an unknown role', { ...question, role: 'root' }],
    ['an unknown tier', { ...question, tier: 'nightly' }],
    ['no tool', { ...question, tool: undefined }],
    ['an empty tool', { ...question, tool: '' }],
    ['a type that is none', { ...question, agentType: 'x' }],
    ['a type of another tier', { ...question, agentType: 'x::background::' }],
    ['an unknown field', { ...question, verbose: true }],
  ])('%s is 400', async (_, body) => {
    expect((await ask(body)).status).toBe(400);
  });

  test('a member may ask about themselves and about no other', async () => {
    const key = await rest.keyOf('member');
    const as = (sub: string) => rest.ask('POST', `${admin}/explain`, { key, body: { ...question, role: undefined, sub } });
    expect((await as('member-1')).status).toBe(200);
    expect((await as('owner')).status).toBe(403);
  });
});

describe('a write that tightens by removing answers with the overrides that still loosen it', () => {
  const allow = { permission: 'allow' };
  const exception = { ...allow, override: true };
  const put = (path: string, body: object) => rest.ask('PUT', `${admin}/${path}`, { body });

  beforeEach(async () => {
    await rest.ask('POST', `${admin}/policies/apply`, {
      body: { workspacePolicy: null, rolePolicies: {}, agentTypePolicies: {}, userPolicies: {} },
    });
  });

  test('a removed allow leaves the decision to the default of its document', async () => {
    await put('workspacePolicy', { defaults: { api: deny }, tools: { a: { api: allow } } });
    await put('rolePolicies/member', { tools: { a: { api: exception }, b: { api: exception } } });
    expect(await put('workspacePolicy', { tools: { a: null } })).toMatchObject({
      status: 200,
      body: { overrides: [{ document: 'role:member', path: 'tools["a"].api', rule: exception }] },
    });
  });

  test('a removed limit does the same', async () => {
    const wide = { rateLimit: 900, override: true };
    await put('workspacePolicy', { defaults: { api: { rateLimit: 5 } }, tools: { a: { api: { rateLimit: 500 } } } });
    await put('rolePolicies/member', { tools: { a: { api: wide } } });
    expect(await put('workspacePolicy', { tools: { a: { api: { rateLimit: null } } } })).toMatchObject({
      status: 200,
      body: { overrides: [{ document: 'role:member', path: 'tools["a"].api', rule: wide }] },
    });
  });

  test.each([
    ['removed', () => rest.ask('DELETE', `${admin}/rolePolicies/member`)],
    ['emptied', () => put('rolePolicies/member', { defaults: null })],
    ['made an ordinary rule', () => put('rolePolicies/member', { defaults: { api: { override: null } } })],
    ['switched to audit', () => put('rolePolicies/member', { mode: 'audit' })],
    ['removed by apply', () => rest.ask('POST', `${admin}/policies/apply`, { body: { rolePolicies: {} } })],
    ['removed by apply, not yet', () => rest.ask('POST', `${admin}/policies/apply`, { body: { rolePolicies: {}, dryRun: true } })],
  ])('an exception that is %s leaves the decision to the broader document', async (_, write) => {
    await put('workspacePolicy', { defaults: { api: deny } });
    await put('rolePolicies/member', { defaults: { api: exception } });
    await put('userPolicies/mem', { defaults: { api: exception } });
    await put('rolePolicies/admin', { defaults: { api: exception } });
    const answer = await write();
    const { overrides } = Object(answer.body);
    const ofUser = { document: 'user:mem:organisation', path: 'defaults.api', rule: exception };
    expect(overrides.filter(({ document }: { readonly document: string }) => document.startsWith('user'))).toEqual([ofUser]);
    expect(JSON.stringify(overrides)).not.toContain('role:member');
  });

  test('an override that loosens nothing stricter is not reported', async () => {
    await put('workspacePolicy', { defaults: { api: allow }, tools: { a: { api: deny } } });
    await put('rolePolicies/member', { defaults: { api: exception } });
    await put('userPolicies/mem', { tools: { b: { api: exception } } });
    expect((await put('workspacePolicy', { tools: null })).body).not.toHaveProperty('overrides');
    expect((await rest.ask('DELETE', `${admin}/rolePolicies/member`)).body).not.toHaveProperty('overrides');
  });
});
