// The organisation's documents as one set: exported, applied, rolled back.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { createRest, errorOf, type Rest } from './rest.ts';

let rest: Rest;
let member: string;
beforeAll(async () => {
  rest = await createRest();
  member = await rest.keyOf('member');
  await rest.ask('POST', '/acme/admin/members', { body: { uid: 'someone@here', email: 'someone@acme.test', role: 'member' } });
});
afterAll(() => rest.close());

const admin = '/acme/admin';
const deny = { permission: 'deny' };
const allow = { permission: 'allow' };
const set = {
  workspacePolicy: { mode: 'enforce', unknownAgents: 'deny', defaults: { api: { rateLimit: 100 } } },
  rolePolicies: { member: { tools: { 'github.*': { api: deny } } }, admin: { mode: 'audit-only' } },
  agentTypePolicies: { 'cc::api::': { defaults: { api: deny } }, 'a/b::background::100%25': { mode: 'audit' } },
  userPolicies: { 'member-1': { agentTypes: { 'cc::api::': { api: { rateLimit: 1 } } } }, 'someone@here': { mode: 'enforce' } },
};
const none = { workspacePolicy: {}, rolePolicies: {}, agentTypePolicies: {}, userPolicies: {} };

const apply = (body: object, headers: Readonly<Record<string, string>> = {}) =>
  rest.ask('POST', `${admin}/policies/apply`, { body, headers });
const rollback = (body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  rest.ask('POST', `${admin}/policies/rollback`, { body, headers });
const exported = async () => Object((await rest.ask('GET', `${admin}/policies`)).body);
const documents = async () => {
  const { revision: _, ...sections } = await exported();
  return sections;
};
const revision = async (): Promise<number> => Number((await exported()).revision);
const changesOf = ({ body }: { readonly body: unknown }): readonly string[] =>
  Object(body).changes.map(({ document, action }: Readonly<Record<string, string>>) => `${action} ${document}`);
const traces = async () => (await rest.pool.query('select * from policy_history order by revision')).rows.length;
const events = async () => (await rest.pool.query('select * from admin_event')).rows.length;

beforeEach(async () => {
  await apply(none);
  await rest.ask('DELETE', `${admin}/userPolicies/member-1`, { key: member });
});

describe('GET policies', () => {
  test('is every section, empty where nothing is set, at one revision', async () => {
    const answer = await rest.ask('GET', `${admin}/policies`);
    expect(answer).toMatchObject({ status: 200, body: { ...none, revision: expect.any(Number) } });
    expect(Object.keys(Object(answer.body))).toHaveLength(5);
  });

  test("holds the organisation's parts of user policies, never members' own", async () => {
    await rest.ask('PUT', `${admin}/userPolicies/member-1`, { key: member, body: { defaults: { api: deny } } });
    expect(await documents()).toEqual(none);
    await rest.ask('PUT', `${admin}/userPolicies/member-1`, { body: { mode: 'audit' } });
    expect(await documents()).toEqual({ ...none, userPolicies: { 'member-1': { mode: 'audit' } } });
  });

  test('an export equals what was applied, and applying it again changes nothing', async () => {
    await apply(set);
    expect(await documents()).toEqual(set);
    const before = await exported();
    const [kept, told] = [await traces(), await events()];
    expect((await apply(before)).body).toEqual({ ok: true, dryRun: false, revision: before.revision, changes: [] });
    expect(await exported()).toEqual(before);
    expect([await traces(), await events()]).toEqual([kept, told]);
  });

  test('an empty document counts as not set: it is missing from an export, and applying it changes nothing', async () => {
    for (const url of ['workspacePolicy', 'rolePolicies/member', 'userPolicies/member-1'])
      await rest.ask('PUT', `${admin}/${url}`, { body: {} });
    expect(await documents()).toEqual(none);
    expect(changesOf(await apply(await exported()))).toEqual([]);
    expect(changesOf(await rollback({ revision: await revision() }))).toEqual([]);
  });
});

describe('POST policies/apply', () => {
  test('is one transaction: one revision, a line of history and an admin event for each changed document', async () => {
    const before = await revision();
    const answer = await apply(set);
    expect(answer).toMatchObject({ status: 200, body: { ok: true, dryRun: false, revision: before + 1 } });
    const changed = [
      'workspace',
      'role:admin',
      'role:member',
      'agent-type:a/b::background::100%25',
      'agent-type:cc::api::',
      'user:member-1:organisation',
      'user:someone@here:organisation',
    ];
    expect(changesOf(answer)).toEqual(changed.map((document) => `create ${document}`));
    const { body: history } = await rest.ask('GET', `${admin}/policyHistory?limit=7`);
    const { body: told } = await rest.ask('GET', `${admin}/events?limit=7`);
    expect(
      new Set(Object(history).history.map((one: { document: string; revision: number }) => `${one.revision} ${one.document}`)),
    ).toEqual(new Set(changed.map((document) => `${before + 1} ${document}`)));
    expect(
      Object(told)
        .events.map(({ target }: { readonly target: string }) => target)
        .toReversed(),
    ).toEqual(changed.map((document) => `policy/${document}`));
    for (const event of Object(told).events) expect(event).toMatchObject({ revision: before + 1, action: 'policy.apply', sub: 'owner' });
  });

  test('a section that is present replaces the whole section; an absent one stays as it is', async () => {
    await apply(set);
    const answer = await apply({ rolePolicies: { member: set.rolePolicies.member, owner: { mode: 'audit' } }, userPolicies: {} });
    expect(changesOf(answer)).toEqual([
      'delete role:admin',
      'create role:owner',
      'delete user:member-1:organisation',
      'delete user:someone@here:organisation',
    ]);
    expect(await documents()).toEqual({
      ...set,
      rolePolicies: { member: set.rolePolicies.member, owner: { mode: 'audit' } },
      userPolicies: {},
    });
  });

  test.each([[{}], [null]])('a document of %j means that it is not set', async (document) => {
    await apply(set);
    const answer = await apply({ workspacePolicy: document, rolePolicies: { ...set.rolePolicies, member: document, owner: document } });
    expect(changesOf(answer)).toEqual(['delete workspace', 'delete role:member']);
    expect(await documents()).toEqual({ ...set, workspacePolicy: {}, rolePolicies: { admin: set.rolePolicies.admin } });
  });

  test('lists the places of each change, with the old and the new value', async () => {
    await apply(set);
    const answer = await apply({
      workspacePolicy: { mode: 'audit', defaults: { api: { rateLimit: 100 } } },
      rolePolicies: { member: { tools: { 'github.*': { api: { permission: 'allow', transform: 'redact' } }, push: {} } } },
    });
    expect(Object(answer.body).changes).toEqual([
      {
        document: 'workspace',
        action: 'update',
        paths: [
          { path: 'mode', before: 'enforce', after: 'audit' },
          { path: 'unknownAgents', before: 'deny' },
        ],
      },
      { document: 'role:admin', action: 'delete', paths: [{ path: 'mode', before: 'audit-only' }] },
      {
        document: 'role:member',
        action: 'update',
        paths: [
          { path: 'tools["github.*"].api.permission', before: 'deny', after: 'allow' },
          { path: 'tools["github.*"].api.transform', after: 'redact' },
          { path: 'tools["push"]', after: {} },
        ],
      },
    ]);
  });

  test('answers with the overrides that still loosen what it tightens, each once, also in a dry run', async () => {
    const exception = { api: { permission: 'allow', override: true } };
    const body = {
      workspacePolicy: { tools: { 'github.push': { api: deny } } },
      rolePolicies: { member: { tools: { 'github.*': { api: deny } } } },
      userPolicies: { 'member-1': { tools: { 'github.*': exception } } },
    };
    const overrides = [{ document: 'user:member-1:organisation', path: 'tools["github.*"].api', rule: exception.api }];
    expect((await apply({ ...body, dryRun: true })).body).toMatchObject({ overrides });
    expect((await apply(body)).body).toMatchObject({ overrides });
    expect((await apply(body)).body).not.toHaveProperty('overrides');
  });

  test('dryRun answers the same and changes nothing', async () => {
    await apply({ rolePolicies: set.rolePolicies });
    const before = await exported();
    const [kept, told] = [await traces(), await events()];
    const dry = await apply({ ...set, dryRun: true });
    expect(dry).toMatchObject({ status: 200, body: { ok: true, dryRun: true, revision: before.revision } });
    expect(await exported()).toEqual(before);
    expect([await traces(), await events()]).toEqual([kept, told]);
    const real = await apply({ ...set, dryRun: false });
    expect(Object(real.body).changes).toEqual(Object(dry.body).changes);
    expect(real.body).toMatchObject({ dryRun: false, revision: before.revision + 1 });
  });

  test('every problem of every document is named with its place, and nothing of the set is stored', async () => {
    const before = await exported();
    const answer = await apply({
      workspacePolicy: { mode: 'off' },
      rolePolicies: { member: { tools: { x: { api: { permission: 'maybe' } } } }, root: {}, admin: [] },
      agentTypePolicies: { nonsense: { mode: 'audit' }, 'cc::api::': { agentTypes: {} } },
      userPolicies: { 'a:b': null, alice: { defaults: { api: { rateLimit: -1 } } }, bob: { parts: {} } },
      workspacePolicies: {},
      dryRun: 'yes',
    });
    expect(answer.status).toBe(400);
    expect(Object(answer.body).details.map((line: string) => line.split(/ (?:must|is) /u, 1)[0])).toEqual([
      'workspacePolicies',
      'dryRun',
      'workspacePolicy.mode',
      'rolePolicies.member.tools["x"].api.permission',
      'rolePolicies.root',
      'rolePolicies.admin',
      'agentTypePolicies.nonsense',
      'agentTypePolicies["cc::api::"].agentTypes',
      'userPolicies["a:b"]',
      'userPolicies.alice.defaults.api.rateLimit',
      'userPolicies.bob.parts',
    ]);
    expect(errorOf(answer)).toContain('rolePolicies.member.tools["x"].api.permission must be "allow" or "deny"');
    expect(errorOf(answer)).toContain('workspacePolicies is not a section; the sections are workspacePolicy, rolePolicies');
    expect(errorOf(answer)).toContain('one of owner, admin, member');
    expect(await exported()).toEqual(before);
  });

  test.each([
    ['a section of null', { rolePolicies: null }],
    ['a section that is a list', { userPolicies: [] }],
    ['a workspace document that is a text', { workspacePolicy: 'x' }],
    ['a role of Object.prototype', { rolePolicies: { constructor: {} } }],
    ['null for dryRun', { dryRun: null }],
  ])('%s is 400', async (_, body) => {
    expect((await apply(body)).status).toBe(400);
  });

  test.each([['null'], ['[]'], ['"x"'], ['']])('a body of %j is 400', async (body) => {
    const headers = { 'content-type': 'application/json' };
    expect((await rest.ask('POST', `${admin}/policies/apply`, { body, headers })).status).toBe(400);
  });

  test('names of any kind are accepted', async () => {
    const tools = { constructor: { api: deny }, toString: { prototype: deny }, ['🙂'.repeat(100)]: { api: deny } };
    await apply({ userPolicies: { constructor: { tools }, toString: { mode: 'audit' } }, agentTypePolicies: { 'x::api::': { tools } } });
    expect(await documents()).toMatchObject({
      userPolicies: { constructor: { tools }, toString: { mode: 'audit' } },
      agentTypePolicies: { 'x::api::': { tools } },
    });
    expect(changesOf(await apply(await exported()))).toEqual([]);
  });

  test("members' own parts stay as they are", async () => {
    await rest.ask('PUT', `${admin}/userPolicies/member-1`, { key: member, body: { defaults: { api: deny } } });
    await apply(set);
    await apply(none);
    expect((await rest.ask('GET', `${admin}/userPolicies/member-1`)).body).toMatchObject({ parts: { self: { defaults: { api: deny } } } });
  });

  test('nothing of another workspace is seen, counted or changed', async () => {
    const other = { key: rest.other };
    await rest.ask('PUT', '/other/admin/workspacePolicy', { ...other, body: { mode: 'audit' } });
    await apply(set);
    expect((await rest.ask('GET', '/other/admin/policies', other)).body).toEqual({
      ...none,
      workspacePolicy: { mode: 'audit' },
      revision: 1,
    });
    await rest.ask('POST', '/other/admin/policies/apply', { ...other, body: none });
    expect(await documents()).toEqual(set);
    expect((await rest.ask('GET', '/other/admin/policyHistory', other)).body).toMatchObject({ count: 2 });
    expect((await rest.ask('POST', '/other/admin/policies/rollback', { ...other, body: { revision: 1 } })).body).toMatchObject({
      revision: 3,
      changes: [{ document: 'workspace', action: 'create' }],
    });
    expect(await documents()).toEqual(set);
  });
});

test('is for owners and admins, with the scope', async () => {
  const lead = await rest.keyOf('admin', ['policies.read']);
  const asked = [
    ['GET', `${admin}/policies`, undefined],
    ['GET', `${admin}/policyHistory`, undefined],
    ['POST', `${admin}/policies/apply`, { dryRun: true }],
    ['POST', `${admin}/policies/rollback`, { revision: 0, dryRun: true }],
  ] as const;
  for (const [method, url, body] of asked) {
    const answers = async (key: string | null) => (await rest.ask(method, url, { key, ...(body === undefined ? {} : { body }) })).status;
    expect(await answers(null)).toBe(401);
    expect(await answers(member)).toBe(403);
    expect(await answers(rest.other)).toBe(403);
    expect(await answers(lead)).toBe(method === 'GET' ? 200 : 403);
    expect(await answers(rest.owner)).toBe(200);
  }
});

describe('POST policies/rollback', () => {
  test('restores every document of the organisation as of that revision, as a new revision', async () => {
    await apply(set);
    const then = await revision();
    await apply({ ...none, rolePolicies: { member: { mode: 'audit' }, owner: { mode: 'audit' } } });
    await rest.ask('PUT', `${admin}/workspacePolicy`, { body: { mode: 'audit' } });
    const present = await revision();
    const answer = await rollback({ revision: then });
    expect(answer).toMatchObject({ status: 200, body: { ok: true, dryRun: false, revision: present + 1 } });
    expect(changesOf(answer)).toContain('delete role:owner');
    expect(changesOf(answer)).toContain('update role:member');
    expect(changesOf(answer)).toContain('create user:member-1:organisation');
    expect(await documents()).toEqual(set);
    expect((await rest.ask('GET', `${admin}/events?limit=1`)).body).toMatchObject({
      events: [{ action: 'policy.rollback', revision: present + 1, detail: { to: then } }],
    });
    expect((await rollback({ revision: then })).body).toEqual({ ok: true, dryRun: false, revision: present + 1, changes: [] });
  });

  test('to 0 removes them all, and a second rollback restores them', async () => {
    await apply(set);
    const then = await revision();
    await rollback({ revision: 0 });
    expect(await documents()).toEqual(none);
    await rollback({ revision: then });
    expect(await documents()).toEqual(set);
  });

  test("leaves keys, members, agents and members' own parts as they are", async () => {
    const before = await revision();
    await apply(set);
    const agent = await rest.createAgent();
    const key = await rest.keyOf('admin', ['*'], 'later');
    await rest.ask('PUT', `${admin}/userPolicies/member-1`, { key: member, body: { defaults: { background: deny } } });
    expect((await rollback({ revision: before })).status).toBe(200);
    expect((await rest.ask('GET', `/api/v1/agents/${agent}`)).status).toBe(200);
    expect((await rest.ask('GET', `${admin}/members/later`, { key })).status).toBe(200);
    expect((await rest.ask('GET', `${admin}/userPolicies/member-1`)).body).toEqual({
      defaults: { background: deny },
      parts: { self: { defaults: { background: deny } } },
    });
  });

  test('dryRun also answers the same and changes nothing', async () => {
    await apply(set);
    const before = await exported();
    const dry = await rollback({ revision: 0, dryRun: true });
    expect(dry.body).toMatchObject({ ok: true, dryRun: true, revision: before.revision });
    expect(await exported()).toEqual(before);
    expect(changesOf(await rollback({ revision: 0 }))).toEqual(changesOf(dry));
  });

  test('a future revision is 404, the present one changes nothing', async () => {
    const present = await revision();
    for (const ahead of [present + 1, 1e300]) expect((await rollback({ revision: ahead })).status).toBe(404);
    expect((await rollback({ revision: present })).body).toEqual({ ok: true, dryRun: false, revision: present, changes: [] });
    expect(await revision()).toBe(present);
  });

  test.each([[{ revision: -1 }], [{ revision: 1.5 }], [{ revision: '1' }], [{ revision: null }], [{}], [{ revision: 1, dry: true }], [[]]])(
    '%j is 400',
    async (body) => {
      expect((await rollback(body)).status).toBe(400);
    },
  );

  test('documents that are not valid today are refused completely, with their places', async () => {
    await apply({ ...set, rolePolicies: { member: { mode: 'audit' } } });
    const then = await revision();
    await rest.pool.query(`update policy_history set document = '{"mode": "loud"}' where revision = $1 and layer in ('role', 'user')`, [
      then,
    ]);
    await apply({ ...none, rolePolicies: { owner: { mode: 'audit' } } });
    const answer = await rollback({ revision: then });
    expect(answer.status).toBe(400);
    for (const place of ['rolePolicies.member.mode', 'userPolicies["member-1"].mode', 'userPolicies["someone@here"].mode'])
      expect(errorOf(answer)).toContain(place);
    expect(await documents()).toEqual({ ...none, rolePolicies: { owner: { mode: 'audit' } } });
  });
});

test('examples/policies.yaml is accepted, and has its documented meaning', async () => {
  const example: unknown = parse(readFileSync(new URL('../../examples/policies.yaml', import.meta.url), 'utf8'));
  const applied = await apply(Object(example));
  expect(applied).toMatchObject({ status: 200, body: { ok: true } });
  expect(await documents()).toEqual(example);
  expect(changesOf(await apply(Object(example)))).toEqual([]);
  await rest.ask('POST', `${admin}/members`, { body: { uid: 'alice', email: 'alice@acme.test', role: 'member' } });
  const explain = async (tool: string, tier: string, name: string, subject: object = { role: 'member' }) => {
    const { body } = await rest.ask('POST', `${admin}/explain`, {
      body: { ...subject, tool, tier, agentType: `claude-code::${tier}::${name}` },
    });
    const { enforced, shadow } = Object(body);
    return { permission: enforced.permission, shadow: shadow.permission, rateLimit: enforced.rateLimit, transform: enforced.transform };
  };
  const usual = { ...allow, shadow: 'allow', transform: 'redact' };
  expect(await explain('search.web', 'interactive', '')).toEqual({ ...usual, rateLimit: 120 });
  expect(await explain('github.delete_repo', 'interactive', '')).toMatchObject(deny);
  expect(await explain('github.delete_repo', 'interactive', '', { role: 'admin' })).toMatchObject(allow);
  expect(await explain('payments.refund', 'interactive', '')).toEqual({ ...usual, rateLimit: 5 });
  expect(await explain('payments.refund', 'background', '')).toMatchObject(deny);
  expect(await explain('github.merge', 'background', 'nightly')).toMatchObject({ ...allow, shadow: 'deny' });
  expect(await explain('github.comment', 'background', 'nightly')).toMatchObject({ ...allow, shadow: 'allow' });
  expect(await explain('github.delete_branch', 'interactive', 'reviewer', { sub: 'alice' })).toEqual({ ...usual, rateLimit: 20 });
});

test('a rollback restores nothing for a person who is no member, and undoes what was written ahead since', async () => {
  await apply({ userPolicies: { gone: { mode: 'audit' }, kept: { mode: 'audit' }, 'member-1': { mode: 'audit' } } });
  const then = await revision();
  await apply({ userPolicies: { ahead: { mode: 'enforce' }, kept: { mode: 'enforce' } } });
  expect(changesOf(await rollback({ revision: then }))).toEqual(['delete user:ahead:organisation', 'create user:member-1:organisation']);
  expect((await documents()).userPolicies).toEqual({ kept: { mode: 'enforce' }, 'member-1': { mode: 'audit' } });
});

test.each([['x'], [1.5], [{}], [null]])('a revision of %j is 400', async (wrong) => {
  const answer = await apply({ revision: wrong });
  expect(answer.status).toBe(400);
  expect(errorOf(answer)).toContain('revision must be an integer');
});

test.each([['__proto__'], ['.'], ['..']])('the user %s is 400', async (uid) => {
  const answer = await rest.ask('POST', `${admin}/policies/apply`, {
    body: `{"userPolicies":{${JSON.stringify(uid)}:{"mode":"audit"}}}`,
    headers: { 'content-type': 'application/json' },
  });
  expect(answer.status).toBe(400);
});
