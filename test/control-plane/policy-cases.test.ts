// Cases in policy documents over REST: written, refused, shown, compared, restored, and named where a tool does not reach
// them.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createRest, errorOf, type Rest } from './rest.ts';

let rest: Rest;
let member: string;
beforeAll(async () => {
  rest = await createRest();
  member = await rest.keyOf('member');
});
afterAll(() => rest.close());

const admin = '/acme/admin';
const user = `${admin}/userPolicies/member-1`;
const none = { workspacePolicy: {}, rolePolicies: {}, agentTypePolicies: {}, userPolicies: {} };
const large = { name: 'large', when: 'args.amount > 1000', permission: 'deny', reason: 'over 1000: use the bank' };
const noted = { name: 'noted', when: 'args.amount > 100', transform: 'redact', rateLimit: 5 };
const payments = { permission: 'allow', cases: [large, noted] };
const withPayments = { tools: { 'payments.*': { api: payments } } };

beforeEach(async () => {
  await rest.ask('DELETE', user);
  await apply(none);
});

const apply = (body: object, query = '') => rest.ask('POST', `${admin}/policies/apply${query}`, { body });
const put = (path: string, body: object, key = rest.owner) => rest.ask('PUT', `${admin}/${path}`, { body, key });
const read = async (path: string): Promise<unknown> => (await rest.ask('GET', `${admin}/${path}`)).body;
const manyCases = (count: number, prefix: string): object => ({
  tools: Object.fromEntries(
    Array.from({ length: count / 50 }, (_, n) => [
      `${prefix}.${n}`,
      { api: { cases: Array.from({ length: 50 }, (__, at) => ({ name: `c${at}`, when: `args.a == ${at}`, permission: 'deny' })) } },
    ]),
  ),
});

describe('documents', () => {
  test.each(['workspacePolicy', 'rolePolicies/member', 'agentTypePolicies/cc%3A%3Aapi%3A%3A', 'userPolicies/member-1'])(
    'cases of %s are stored and returned as they were written; a merge replaces the list, null removes it',
    async (path) => {
      expect((await put(path, withPayments)).status).toBe(200);
      expect(await read(path)).toMatchObject(withPayments);
      const less = { tools: { 'payments.*': { api: { permission: 'allow', cases: [noted] } } } };
      expect((await put(path, less)).status).toBe(200);
      expect(await read(path)).toMatchObject(less);
      if (path.startsWith('agentType')) return;
      expect((await put(path, { tools: { 'payments.*': { api: { cases: null } } } })).status).toBe(200);
      expect(await read(path)).toMatchObject({ tools: { 'payments.*': { api: { permission: 'allow' } } } });
      expect(JSON.stringify(await read(path))).not.toContain('cases');
    },
  );

  test('a wrong condition is refused with place, line and column, and nothing is stored', async () => {
    const answer = await put('workspacePolicy', {
      tools: { 'payments.transfer': { api: { cases: [{ ...large, when: 'args.amount >> 1' }] } } },
    });
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toMatch(/^tools\["payments\.transfer"\]\.api\.cases\[0\]\.when line 1, column \d+: /);
    expect(await read('workspacePolicy')).toEqual({});
  });

  test('a set is exported, applied and rolled back with its cases', async () => {
    const set = { ...none, workspacePolicy: withPayments, rolePolicies: { member: { defaults: { api: { cases: [large] } } } } };
    expect((await apply(set)).status).toBe(200);
    const { revision, ...exported } = Object(await read('policies'));
    expect(exported).toEqual(set);
    expect(Object((await apply(exported)).body).changes).toEqual([]);
    const changed = { workspacePolicy: { tools: { 'payments.*': { api: { ...payments, cases: [noted, large] } } } } };
    const { changes } = Object((await apply({ ...changed, dryRun: true })).body);
    const path = 'tools["payments.*"].api.cases';
    expect(changes).toEqual([
      { document: 'workspace', action: 'update', paths: [{ path, before: [large, noted], after: [noted, large] }] },
    ]);
    await apply(changed);
    expect((await rest.ask('POST', `${admin}/policies/rollback`, { body: { revision } })).status).toBe(200);
    expect(await read('workspacePolicy')).toEqual(withPayments);
    const { history } = Object(await read('policyHistory?limit=1'));
    expect(history).toMatchObject([{ document: 'workspace', before: changed.workspacePolicy, after: withPayments }]);
  });
});

describe('2,000 cases a workspace', () => {
  test('count over all documents, and in a dry run; what a write replaces is not counted', async () => {
    expect((await put('workspacePolicy', manyCases(1_000, 'w'))).status).toBe(200);
    expect((await put('rolePolicies/member', manyCases(1_000, 'r'))).status).toBe(200);
    const words = 'workspace must have at most 2000 cases in all documents, would have 2002';
    const two = { defaults: { api: { cases: [large, noted] } } };
    for (const path of ['rolePolicies/owner', 'agentTypePolicies/cc%3A%3Aapi%3A%3A', 'userPolicies/member-1', 'workspacePolicy']) {
      const refused = await put(path, two);
      expect([refused.status, errorOf(refused)]).toEqual([400, words]);
    }
    for (const dryRun of [true, false]) {
      const refused = await apply({ rolePolicies: { member: manyCases(1_000, 'r'), owner: two }, dryRun });
      expect([refused.status, errorOf(refused)]).toEqual([400, words]);
    }
    expect((await put('workspacePolicy', { tools: null, ...two })).status).toBe(200);
    expect((await put('rolePolicies/owner', two)).status).toBe(200);
    expect((await apply({ rolePolicies: {}, workspacePolicy: manyCases(2_000, 'w') })).status).toBe(200);
  });

  test('a workspace counts only its own', async () => {
    await put('workspacePolicy', manyCases(2_000, 'w'));
    const elsewhere = await rest.ask('PUT', '/other/admin/workspacePolicy', { key: rest.other, body: withPayments });
    expect(elsewhere.status).toBe(200);
    await rest.ask('DELETE', '/other/admin/workspacePolicy', { key: rest.other });
  });

  test('a rollback cannot pass it', async () => {
    // The document of a person who is no member keeps its present content.
    await put('userPolicies/later', { mode: 'audit' });
    await put('workspacePolicy', manyCases(1_500, 'w'));
    const { revision } = Object(await read('policies'));
    await put('workspacePolicy', { tools: null });
    await put('userPolicies/later', manyCases(1_000, 'u'));
    for (const dryRun of [true, false]) {
      const refused = await rest.ask('POST', `${admin}/policies/rollback`, { body: { revision, dryRun } });
      expect([refused.status, errorOf(refused)]).toEqual([400, 'workspace must have at most 2000 cases in all documents, would have 2500']);
    }
  });
});

describe('cases that a more specific key passes by', () => {
  const passed = {
    document: 'workspace',
    path: 'tools["payments.*"].api',
    cases: ['large'],
    by: 'tools["payments.transfer"].api',
    fields: ['permission'],
  };
  const both = { tools: { 'payments.*': { api: payments }, 'payments.transfer': { api: { permission: 'allow' } } } };

  test('are named by the write of either rule, and by no other write', async () => {
    expect((await put('workspacePolicy', withPayments)).body).not.toHaveProperty('passedBy');
    expect((await put('workspacePolicy', { tools: { 'payments.transfer': { api: { permission: 'allow' } } } })).body).toMatchObject({
      passedBy: [passed],
    });
    expect((await put('workspacePolicy', { defaults: { api: { rateLimit: 9 } } })).body).not.toHaveProperty('passedBy');
    const relaxed = { ...payments, cases: [{ ...large, when: 'args.amount > 2000' }] };
    expect((await put('workspacePolicy', { tools: { 'payments.*': { api: relaxed } } })).body).toMatchObject({ passedBy: [passed] });
  });

  test('are named by apply and its dry run', async () => {
    for (const dryRun of [true, false]) expect((await apply({ workspacePolicy: both, dryRun })).body).toMatchObject({ passedBy: [passed] });
  });

  test.each<readonly [string, object, readonly (readonly [string, string, readonly string[], readonly string[]])[]]>([
    [
      'each field by itself',
      { tools: { 'payments.*': { api: payments }, 'payments.x': { api: { rateLimit: 3, transform: 'log' } } } },
      [['tools["payments.*"].api', 'tools["payments.x"].api', ['noted'], ['rateLimit', 'transform']]],
    ],
    [
      'a longer wildcard, and defaults too',
      { defaults: { api: { cases: [large] } }, tools: { 'a.*': { api: { cases: [large] } }, 'a.b.*': { api: { permission: 'deny' } } } },
      [
        ['tools["a.*"].api', 'tools["a.b.*"].api', ['large'], ['permission']],
        ['defaults.api', 'tools["a.b.*"].api', ['large'], ['permission']],
      ],
    ],
    ['no other tier', { tools: { 'a.*': { api: { cases: [large] } }, 'a.b': { background: { permission: 'allow' } } } }, []],
    ['no key that matches other tools', { tools: { 'a.*': { api: { cases: [large] } }, ab: { api: { permission: 'allow' } } } }, []],
    ['no key that sets another field', { tools: { 'a.*': { api: { cases: [large] } }, 'a.b': { api: { rateLimit: 1 } } } }, []],
    ['no key that sets it only in a case', { tools: { 'a.*': { api: { cases: [large] } }, 'a.b': { api: { cases: [large] } } } }, []],
  ])('%s', async (_, document, pairs) => {
    const { passedBy = [] } = Object((await put('rolePolicies/admin', document)).body);
    expect(passedBy).toEqual(pairs.map(([path, by, cases, fields]) => ({ document: 'role:admin', path, cases, by, fields })));
  });

  test('are at most 100 in an answer', async () => {
    const tools = Object.fromEntries(Array.from({ length: 120 }, (_, n) => [`payments.${n}`, { api: { permission: 'allow' } }]));
    const { passedBy } = Object((await put('workspacePolicy', { tools: { ...tools, 'payments.*': { api: payments } } })).body);
    expect(passedBy).toHaveLength(100);
  });
});

describe('the policy of a user', () => {
  const organisation = { tools: { 'payments.*': { api: payments } } };

  test("shows the organisation's cases at their place, next to the stricter of both parts", async () => {
    await put('userPolicies/member-1', organisation);
    expect((await put('userPolicies/member-1', { tools: { 'payments.*': { api: { permission: 'deny' } } } }, member)).status).toBe(200);
    expect(await read('userPolicies/member-1')).toEqual({
      tools: { 'payments.*': { api: { permission: 'deny', cases: [large, noted] } } },
      parts: { organisation, self: { tools: { 'payments.*': { api: { permission: 'deny' } } } } },
    });
  });

  test('a member or an admin who sends back what GET shows changes nothing, with and without parts', async () => {
    await put('userPolicies/member-1', organisation);
    await put('userPolicies/member-1', { defaults: { api: { rateLimit: 5 } } }, member);
    const shown = Object(await read('userPolicies/member-1'));
    const { parts: _, ...withoutParts } = shown;
    for (const [body, key] of [
      [shown, member],
      [shown, rest.owner],
      [withoutParts, member],
    ] as const) {
      expect((await put('userPolicies/member-1', body, key)).status).toBe(200);
      expect(await read('userPolicies/member-1')).toEqual(shown);
    }
  });

  test('a member who changes cases, or writes some, is refused with the place', async () => {
    await put('userPolicies/member-1', organisation);
    for (const cases of [[noted], [{ ...large, when: 'false' }, noted], []]) {
      const refused = await put('userPolicies/member-1', { tools: { 'payments.*': { api: { cases } } } }, member);
      expect([refused.status, errorOf(refused)]).toEqual([
        400,
        'tools["payments.*"].api.cases may only be set by owners and admins; rules of members have no cases',
      ]);
    }
  });

  test('what a member writes is compared with the loosest that the cases leave', async () => {
    const rule = { permission: 'deny', rateLimit: 10, transform: 'redact' };
    const workspace = (cases: readonly object[]) => put('workspacePolicy', { defaults: { api: { ...rule, cases } } });
    const looser = { defaults: { api: { permission: 'allow', rateLimit: 10, transform: 'log' } } };
    await workspace([{ name: 'strict', when: 'args.a == 1', rateLimit: 1 }]);
    const refused = await put('userPolicies/member-1', looser, member);
    expect(refused.status).toBe(403);
    expect(Object(refused.body).details).toEqual([
      'defaults.api.permission is looser than the rule of the organisation there: "deny"',
      'defaults.api.transform is looser than the rule of the organisation there: "redact"',
    ]);
    await workspace([{ name: 'loose', when: 'args.a == 1', permission: 'allow', transform: 'log' }]);
    expect((await put('userPolicies/member-1', looser, member)).status).toBe(200);
    const more = await put('userPolicies/member-1', { defaults: { api: { rateLimit: 11 } } }, member);
    expect([more.status, errorOf(more)]).toEqual([403, 'defaults.api.rateLimit is looser than the rule of the organisation there: 10']);
  });
});

describe('exceptions that loosen a case', () => {
  const exception = { defaults: { api: { permission: 'allow', override: true } } };
  const overrides = async (document: object): Promise<unknown> => Object((await put('workspacePolicy', document)).body).overrides;
  const named = [{ document: 'role:member', path: 'defaults.api', rule: exception.defaults.api }];

  test('are named by a write that adds or widens a case that denies, and not by one that leaves its cases', async () => {
    await put('rolePolicies/member', exception);
    expect(await overrides({ tools: { pay: { api: { permission: 'allow', cases: [large] } } } })).toEqual(named);
    expect(await overrides({ tools: { pay: { api: { rateLimit: 7 } } } })).toBeUndefined();
    expect(await overrides({ tools: { pay: { api: { cases: [{ ...large, when: 'args.amount > 10' }] } } } })).toEqual(named);
    expect(await overrides({ tools: { pay: { api: { cases: null } } } })).toBeUndefined();
  });

  test('are named where a case that allowed is removed', async () => {
    await put('rolePolicies/member', exception);
    await overrides({ tools: { pay: { api: { permission: 'deny', cases: [{ ...large, permission: 'allow' }] } } } });
    expect(await overrides({ tools: { pay: { api: { cases: null } } } })).toEqual(named);
  });

  test('are also those that make the exception in a case', async () => {
    const api = { permission: 'deny', override: true, cases: [{ ...large, permission: 'allow' }] };
    await put('rolePolicies/member', { defaults: { api } });
    expect(await overrides({ defaults: { api: { permission: 'deny' } } })).toEqual([
      { document: 'role:member', path: 'defaults.api', rule: api },
    ]);
  });
});
