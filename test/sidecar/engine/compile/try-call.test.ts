// A call that is tried is decided as a sidecar decides the first call of a run, and the result says which cases act.
import { createTrial, type PolicyDefaults, parsePolicySet, type TriedCall, type TriedWorld } from '@tollgate/sidecar/engine/compile';
import { describe, expect, test } from 'vitest';

const defaults: PolicyDefaults = { defaultPermission: 'allow', windowSeconds: 60 };

function trialOf(set: Readonly<Record<string, unknown>>, world: Partial<TriedWorld> = {}) {
  const parsed = parsePolicySet(set);
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  const members = [{ uid: 'ann', email: '', role: 'member' as const }];
  const trial = createTrial({ documents: parsed.value.documents, agents: [], members, servers: [], ...world }, defaults);
  const call: TriedCall = { caller: { sub: 'ann' }, agent: '', client: 'tollgate', tier: 'api', tool: 'pay', input: {}, wallTime: null };
  return (change: Partial<TriedCall> = {}) => trial({ ...call, ...change });
}

const large = { name: 'large', when: 'args.amount > 100', permission: 'deny', reason: 'ask finance' };
const noted = { name: 'noted', when: 'args.amount > 10', transform: 'redact', rateLimit: 5 };
const workspace = (cases: readonly object[], rule: object = {}) => ({ workspacePolicy: { tools: { pay: { api: { ...rule, cases } } } } });

describe('cases', () => {
  test('the one that gives the permission acts, and those after it are not looked at', () => {
    const tried = trialOf(workspace([large, noted]))({ input: { amount: 500 } });
    expect(tried).toMatchObject({ decision: 'deny', code: 'policy_denied', limits: [], needsTime: false });
    expect(tried.reason).toContain('ask finance');
    expect(tried.cases).toEqual([
      { document: 'workspace', path: 'tools["pay"].api.cases["large"]', name: 'large', result: 'holds', acts: true },
    ]);
  });

  test('one that gives the transform or a limit acts too', () => {
    const tried = trialOf(workspace([large, noted], { permission: 'allow', rateLimit: 50 }))({ input: { amount: 50 } });
    expect(tried).toMatchObject({ decision: 'allow', transform: 'redact', limits: [50, 5] });
    expect(tried.cases.map(({ name, result, acts }) => [name, result, acts])).toEqual([
      ['large', 'does not hold', false],
      ['noted', 'holds', true],
    ]);
  });

  test('one whose permission a more specific layer replaces by a stricter one does not act', () => {
    const small = { name: 'small', when: 'args.amount < 10', permission: 'allow' };
    const rolePolicies = { member: { tools: { pay: { api: { permission: 'deny' } } } } };
    const tried = trialOf({ ...workspace([small]), rolePolicies })({ input: { amount: 5 } });
    expect(tried).toMatchObject({ decision: 'deny', cases: [{ name: 'small', result: 'holds', acts: false }] });
  });

  test('one that a more specific key passes by is not looked at', () => {
    const tools = { 'pay.*': { api: { cases: [large] } }, 'pay.now': { api: { permission: 'allow' } } };
    const tried = trialOf({ workspacePolicy: { tools } })({ tool: 'pay.now', input: { amount: 500 } });
    expect(tried).toMatchObject({ decision: 'allow', cases: [] });
  });

  test('an undecided one says why and where, and the strictest way acts', () => {
    const tried = trialOf(workspace([large]))({ input: { amount: 'much' } });
    expect(tried).toMatchObject({
      decision: 'deny',
      cases: [{ name: 'large', result: 'undecided', why: { reason: 'type', at: expect.stringContaining('args.amount') }, acts: true }],
    });
  });

  test('a name that looks like a path is found', () => {
    const name = 'x.cases["y"]';
    expect(trialOf(workspace([{ ...large, name }]))({ input: { amount: 500 } }).cases).toMatchObject([{ name }]);
  });

  test('there are none if the call is denied before policy is read', () => {
    const agents = [
      {
        id: 'a',
        name: 'a',
        suspended: true,
        enabledTools: [],
        scopes: [],
        maxToolCalls: 1,
        maxBudgetCents: 0,
        maxDurationMs: 1_000,
        maxToolRounds: 1,
        delegatable: false,
        canDelegate: false,
        maxDelegationDepth: null,
      },
    ];
    expect(trialOf(workspace([large]), { agents })({ agent: 'a' })).toMatchObject({ code: 'agent_suspended', cases: [] });
  });
});

describe('the caller', () => {
  const byUser = workspace([{ name: 'finance', when: '!(user.uid in ["ann"])', permission: 'deny' }]);

  test('is a member with an id and a role', () => {
    expect(trialOf(byUser)().decision).toBe('allow');
    const ofRole = { rolePolicies: { member: { defaults: { api: { permission: 'deny' } } } } };
    expect(trialOf(ofRole)().decision).toBe('deny');
  });

  test('is a service key if only a role is given: it has no uid', () => {
    const tried = trialOf(byUser)({ caller: { role: 'owner' } });
    expect(tried).toMatchObject({ decision: 'deny', cases: [{ result: 'undecided', why: { reason: 'absent', at: 'user.uid' } }] });
    const ofRole = { rolePolicies: { owner: { defaults: { api: { permission: 'deny' } } } } };
    expect(trialOf(ofRole)({ caller: { role: 'owner' } }).decision).toBe('deny');
    expect(trialOf(ofRole)().decision).toBe('allow');
  });
});

describe('the time', () => {
  const evening = workspace([{ name: 'evening', when: 'has(args.amount) && now.getHours("Europe/Berlin") >= 18', permission: 'deny' }]);

  test('is that of the call', () => {
    const trial = trialOf(evening);
    const at = (time: string) => trial({ input: { amount: 1 }, wallTime: Date.parse(time) });
    expect(at('2026-06-01T15:59:59Z')).toMatchObject({ decision: 'allow', needsTime: false });
    expect(at('2026-06-01T16:00:00Z')).toMatchObject({ decision: 'deny', needsTime: false });
  });

  test('is needed only if a condition reads it', () => {
    expect(trialOf(evening)({ input: { amount: 1 } }).needsTime).toBe(true);
    expect(trialOf(evening)({ input: {} }).needsTime).toBe(false);
  });
});

test('calls are not counted', () => {
  const trial = trialOf({ workspacePolicy: { tools: { pay: { api: { rateLimit: 1 } } } } });
  expect([trial(), trial()].map(({ decision }) => decision)).toEqual(['allow', 'allow']);
  expect(trialOf({ workspacePolicy: { tools: { pay: { api: { rateLimit: 0 } } } } })()).toMatchObject({
    decision: 'deny',
    code: 'rate_limited',
  });
});
