// Rules that ask a person, in policy documents over REST: written, refused, warned about, merged, explained and restored.
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
const user = 'userPolicies/member-1';
const none = { workspacePolicy: {}, rolePolicies: {}, agentTypePolicies: {}, userPolicies: {} };
const tool = 'payments.transfer';
const place = `tools["${tool}"].api`;
const rule = (api: object) => ({ tools: { [tool]: { api } } });
const terms = { approvers: ['role:owner', 'user:member-1'], waitSeconds: 60, reason: 'above 100' };

beforeEach(async () => {
  await rest.ask('DELETE', `${admin}/${user}`);
  await apply(none);
});

const apply = (body: object) => rest.ask('POST', `${admin}/policies/apply`, { body });
const put = (path: string, body: object, key = rest.owner) => rest.ask('PUT', `${admin}/${path}`, { body, key });
const read = async (path: string, key = rest.owner): Promise<unknown> => (await rest.ask('GET', `${admin}/${path}`, { key })).body;
const explain = async (question: object = {}): Promise<Readonly<Record<string, unknown>>> =>
  Object(
    (
      await rest.ask('POST', `${admin}/explain`, {
        body: { sub: 'member-1', agentType: 'cc::api::', tier: 'api', tool, ...question },
      })
    ).body,
  );

describe('documents', () => {
  test.each(['workspacePolicy', 'rolePolicies/member', 'agentTypePolicies/cc%3A%3Aapi%3A%3A', 'userPolicies/member-1'])(
    'a question of %s is stored and returned as it was written',
    async (path) => {
      for (const asks of [{ permission: 'ask' }, { permission: 'ask', ask: 'confirm' }, { permission: 'ask', ask: terms }]) {
        if (!path.startsWith('agentType')) await put(path, rule({ ask: null }));
        expect((await put(path, rule(asks))).status).toBe(200);
        expect(await read(path)).toMatchObject(rule(asks));
      }
    },
  );

  test('terms that are left after their permission has changed are refused, and nothing is stored', async () => {
    await put('workspacePolicy', rule({ permission: 'ask', ask: terms }));
    const answer = await put('workspacePolicy', rule({ permission: 'deny' }));
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toBe(`${place}.ask is only for a rule or case with its own permission "ask"; remove it with null`);
    expect(await read('workspacePolicy')).toEqual(rule({ permission: 'ask', ask: terms }));
    expect((await put('workspacePolicy', rule({ permission: 'deny', ask: null }))).status).toBe(200);
  });

  test('a set is exported, compared, applied and rolled back with its questions', async () => {
    const set = { ...none, workspacePolicy: rule({ permission: 'ask', ask: terms }) };
    expect((await apply(set)).status).toBe(200);
    const { revision, ...exported } = Object(await read('policies'));
    expect(exported).toEqual(set);
    const changed = { workspacePolicy: rule({ permission: 'ask', ask: { ...terms, uses: 3 } }) };
    const { changes } = Object((await apply({ ...changed, dryRun: true })).body);
    expect(changes).toEqual([{ document: 'workspace', action: 'update', paths: [{ path: `${place}.ask.uses`, after: 3 }] }]);
    await apply(changed);
    expect((await rest.ask('POST', `${admin}/policies/rollback`, { body: { revision } })).status).toBe(200);
    expect(await read('workspacePolicy')).toEqual(set.workspacePolicy);
  });

  test('a write that no one may answer is warned about', async () => {
    const { warnings } = Object((await put('workspacePolicy', rule({ permission: 'ask', ask: { approvers: ['user:absent'] } }))).body);
    expect(warnings).toEqual([
      { document: 'workspace', path: place, message: 'asks, but no member may answer: its calls are denied (approval_unanswerable)' },
    ]);
  });

  test('a write that asks is answered with the exceptions that allow', async () => {
    await put('rolePolicies/member', rule({ permission: 'allow', override: true }));
    const { overrides } = Object((await put('workspacePolicy', rule({ permission: 'ask' }))).body);
    expect(overrides).toMatchObject([{ document: 'role:member', path: place }]);
  });
});

describe('a member about themselves', () => {
  const self = (api: object) => put(user, rule(api), member);

  test('may ask where the organisation allows, and deny where it asks', async () => {
    expect((await self({ permission: 'ask', ask: { uses: 2 } })).status).toBe(200);
    await put('workspacePolicy', rule({ permission: 'ask' }));
    expect((await self({ permission: 'deny', ask: null })).status).toBe(200);
  });

  test('may not ask where the organisation denies, nor allow where it asks', async () => {
    await put('workspacePolicy', rule({ permission: 'deny' }));
    const asks = await self({ permission: 'ask' });
    expect([asks.status, errorOf(asks)]).toEqual([
      403,
      expect.stringContaining(`${place}.permission is looser than the rule of the organisation there: "deny"`),
    ]);
    await put('workspacePolicy', rule({ permission: 'ask' }));
    const allows = await self({ permission: 'allow' });
    expect([allows.status, errorOf(allows)]).toEqual([403, expect.stringContaining(': "ask"')]);
  });

  test('names no approvers', async () => {
    const answer = await self({ permission: 'ask', ask: { approvers: ['user:friend'] } });
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toContain(`${place}.ask.approvers may only be set by owners and admins`);
  });

  test('sees the stricter of both parts, and may send it back', async () => {
    await put(user, rule({ permission: 'allow' }));
    await self({ permission: 'ask', ask: { uses: 2 } });
    const shown = await read(user, member);
    expect(shown).toMatchObject(rule({ permission: 'ask', ask: { uses: 2 } }));
    expect((await put(user, Object(shown), member)).status).toBe(200);
    expect(await read(user, member)).toEqual(shown);
  });

  test('may ask by other terms where the organisation asks too', async () => {
    await put(user, rule({ permission: 'ask', ask: { need: 2, uses: 5 } }));
    expect((await self({ permission: 'ask', ask: { uses: 3 } })).status).toBe(200);
    expect(await read(user, member)).toMatchObject({ parts: { self: rule({ permission: 'ask', ask: { uses: 3 } }) } });
  });
});

describe('explain', () => {
  test('says that a call would be asked for, by which rules, and who may answer', async () => {
    await put('workspacePolicy', rule({ permission: 'ask' }));
    await put(user, rule({ permission: 'ask' }), member);
    const { decision, reason, asks, wouldAllow, remedies } = await explain();
    expect([decision, String(reason).split(':', 1)[0]]).toEqual(['ask', 'approval_pending']);
    const defaults = { need: 1, waitSeconds: 300, pendingSeconds: 86_400, validSeconds: 900, uses: 1 };
    expect(asks).toEqual([
      {
        layer: 'workspace',
        document: 'workspace',
        path: place,
        approvers: ['role:admin'],
        ...defaults,
        mayAnswer: ['owner'],
        mayAnswerCount: 1,
      },
      {
        layer: 'user',
        part: 'self',
        document: 'user:member-1:self',
        path: place,
        approvers: ['role:admin', 'user:member-1'],
        ...defaults,
        self: true,
        mayAnswer: expect.arrayContaining(['owner', 'member-1']),
        mayAnswerCount: 2,
      },
    ]);
    expect(wouldAllow).not.toEqual([]);
    expect(remedies).toEqual([]);
  });

  test('depends on the input where a case asks and none is given', async () => {
    const cases = [{ name: 'large', when: 'args.amount > 100', permission: 'ask', ask: { need: 1 } }];
    await put('workspacePolicy', rule({ permission: 'allow', cases }));
    expect((await explain())['decision']).toBe('depends');
    expect((await explain({ input: { amount: 1 } }))['decision']).toBe('allow');
    const asked = await explain({ input: { amount: 500 } });
    expect(asked).toMatchObject({
      decision: 'ask',
      asks: [{ path: `${place}.cases["large"]` }],
      remedies: [{ kind: 'no_case', layer: 'workspace', path: place }],
    });
  });

  test('names a call that is asked for in place of one that is denied', async () => {
    const cases = [{ name: 'small', when: 'args.amount < 100', permission: 'ask' }];
    await put('workspacePolicy', rule({ permission: 'deny', cases }));
    expect(await explain({ input: { amount: 500 } })).toMatchObject({
      decision: 'deny',
      remedies: [{ kind: 'case', layer: 'workspace', path: `${place}.cases["small"]`, asks: true }],
    });
  });
});
