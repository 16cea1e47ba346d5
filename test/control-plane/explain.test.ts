// Explaining a call, over HTTP. test/semantics/explain.test.ts checks that every explanation decides as the reference
// does, and that its advice leads to an allow.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createRest, errorOf, field, type Rest } from './rest.ts';

let rest: Rest;
beforeEach(async () => {
  rest = await createRest();
  await rest.keyOf('member', ['*'], 'ann');
});
afterEach(() => rest.close());

const admin = '/acme/admin';
const api = (rule: object) => ({ api: rule });
const deny = { permission: 'deny' };
const allow = { permission: 'allow' };
const agentType = 'claude-code::api::bot';
const tool = 'github.delete_repo';

interface Layer {
  readonly document: string;
  readonly mode: string | null;
  readonly path: string;
  readonly rule: object;
}

interface Explanation {
  readonly decision: string;
  readonly reason: string;
  readonly enforced: object;
  readonly shadow: object;
  readonly layers: readonly Layer[];
  readonly above?: readonly { readonly layers: readonly Layer[] }[];
  readonly wouldAllow: readonly (readonly object[])[];
}

async function explain(question: object, key = rest.owner): Promise<Explanation> {
  const answer = await rest.ask('POST', `${admin}/explain`, { key, body: { agentType, tier: 'api', tool, ...question } });
  if (answer.status !== 200) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body as Explanation;
}

const put = async (path: string, body: object, key = rest.owner): Promise<void> => {
  expect((await rest.ask('PUT', `${admin}/${path}`, { key, body })).status).toBe(200);
};
const typePath = `agentTypePolicies/${encodeURIComponent(agentType)}`;
const said = ({ layers }: Explanation) => layers.map(({ document, mode, path, rule }) => [document, mode, path, rule]);

test('a call through a chain has the layers of the agents above, root first, and says which agent decides and what would allow it', async () => {
  const [root, middle] = ['claude-code::api::root', 'hook::background::middle'];
  await put(`agentTypePolicies/${encodeURIComponent(middle)}`, { tools: { 'github.*': { background: { ...deny, rateLimit: 2 } } } });
  await put('rolePolicies/member', { defaults: { background: { transform: 'redact' } } });
  const explanation = await explain({ sub: 'ann', above: [root, middle] });
  expect(explanation).toMatchObject({
    decision: 'deny',
    enforced: { permission: 'deny', transform: 'redact', attributedTo: { layer: 'agent-type', path: 'tools["github.*"].background' } },
    above: [
      { agentType: root, tier: 'api', enforced: { permission: 'allow', transform: 'log' } },
      { agentType: middle, tier: 'background', decides: true, enforced: { permission: 'deny', rateLimit: 2, transform: 'redact' } },
    ],
    wouldAllow: [
      [{ document: `agent-type:${middle}`, path: 'tools["github.*"].background', change: 'set permission "allow"' }],
      [{ document: 'user:ann:organisation', path: `tools["${tool}"].background` }],
    ],
  });
  expect(said(explanation).map(([document]) => document)).toEqual([
    'workspace',
    'role:member',
    `agent-type:${agentType}`,
    'user:ann:organisation',
    'user:ann:self',
  ]);
  expect(Object(explanation).above[0]).not.toHaveProperty('decides');
  expect(await explain({ sub: 'ann', above: [] })).not.toHaveProperty('above');
});

test('a chain that no agent may be called through is denied, and no change of the policy is named for it', async () => {
  await rest.createAgent({ name: 'root', enabledTools: ['github.*'], canDelegate: false });
  const once = await explain({ sub: 'ann', above: ['claude-code::api::root'] });
  expect(once.reason).toMatch(/^delegation_denied: agent "root" may not delegate/);
  expect(once.wouldAllow).toEqual([
    [expect.objectContaining({ layer: 'agent', document: 'root', path: 'canDelegate', change: 'set true' })],
  ]);
  const twice = await explain({ sub: 'ann', above: ['claude-code::api::root', 'claude-code::api::root'] });
  expect([twice.decision, twice.wouldAllow]).toEqual(['deny', []]);
  for (const above of [['root'], ['a::b::c'], Array.from({ length: 17 }, () => agentType), 'root', [7]]) {
    const answer = await rest.ask('POST', `${admin}/explain`, { body: { sub: 'ann', agentType, tier: 'api', tool, above } });
    expect([answer.status, errorOf(answer)]).toEqual([400, expect.stringContaining('above')]);
  }
});

describe('an explanation', () => {
  test('has every layer, broad to specific, set or not, with the rule it contributes and its path', async () => {
    const own = await rest.keyOf('member', ['*'], 'ann');
    await put('userPolicies/ann', { defaults: api({ transform: 'redact' }), agentTypes: { [agentType]: api({ rateLimit: 3 }) } }, own);
    await put('workspacePolicy', { tools: { 'github.*': api({ rateLimit: 5, permission: 'allow' }) } });
    await put('rolePolicies/member', { mode: 'audit', tools: { [tool]: api(deny) } });
    expect(said(await explain({ sub: 'ann' }))).toEqual([
      ['workspace', 'enforce', 'tools["github.*"].api', { permission: 'allow', rateLimit: 5 }],
      ['role:member', 'audit', 'tools["github.delete_repo"].api', { permission: 'deny' }],
      [`agent-type:${agentType}`, null, '', {}],
      ['user:ann:organisation', null, '', {}],
      ['user:ann:self', 'enforce', `agentTypes["${agentType}"].api`, { rateLimit: 3, transform: 'redact' }],
    ]);
  });

  test('shows the mode of each document in the word of the document', async () => {
    await put('workspacePolicy', { mode: 'audit', tools: { [tool]: api(deny) } });
    await put('rolePolicies/member', { mode: 'audit-only', tools: { [tool]: api(deny) } });
    await put(typePath, { mode: 'enforce', tools: { [tool]: api(allow) } });
    await put('userPolicies/ann', { mode: 'audit-only', tools: { [tool]: api(deny) } });
    const { layers } = await explain({ sub: 'ann' });
    expect(layers.map(({ document, mode }) => [document, mode])).toEqual([
      ['workspace', 'audit'],
      ['role:member', 'audit-only'],
      [`agent-type:${agentType}`, 'enforce'],
      ['user:ann:organisation', 'audit-only'],
      ['user:ann:self', null],
    ]);
    const { above = [] } = await explain({ sub: 'ann', above: ['x::api::root'] });
    expect(above[0]?.layers.map(({ document, mode }) => [document, mode])).toContainEqual(['role:member', 'audit-only']);
  });

  test('has both folds, the winner of each, and acts on the enforced one', async () => {
    await put('workspacePolicy', { defaults: api({ rateLimit: 5 }) });
    await put('rolePolicies/member', { mode: 'audit', tools: { [tool]: api(deny) } });
    expect(await explain({ sub: 'ann' })).toMatchObject({
      decision: 'allow',
      reason: 'allowed: the built-in default allows api calls of "github.delete_repo"',
      enforced: {
        permission: 'allow',
        rateLimit: 5,
        limits: [{ layer: 'workspace', path: 'defaults.api' }],
        attributedTo: { layer: 'default' },
      },
      shadow: { permission: 'deny', attributedTo: { layer: 'role', path: 'tools["github.delete_repo"].api' } },
      wouldAllow: [],
    });
  });

  test('names the winner of four layers that match, and an override among them', async () => {
    await put('workspacePolicy', { defaults: api(deny) });
    await put('rolePolicies/member', { tools: { 'github.*': api(deny) } });
    await put(typePath, { tools: { [tool]: api({ ...allow, override: true }) } });
    expect(await explain({ sub: 'ann' })).toMatchObject({
      decision: 'allow',
      enforced: { attributedTo: { layer: 'agent-type', path: 'tools["github.delete_repo"].api', override: true } },
    });
    await put('userPolicies/ann', { tools: { [tool]: api(deny) } });
    const denied = await explain({ sub: 'ann' });
    expect(denied).toMatchObject({
      decision: 'deny',
      reason: 'policy_denied: the organisation, for user "ann", denies api calls of "github.delete_repo" (tools["github.delete_repo"].api)',
      enforced: { attributedTo: { layer: 'user', part: 'organisation' } },
    });
    expect(denied.wouldAllow[0]).toEqual([
      {
        layer: 'user',
        part: 'organisation',
        document: 'user:ann:organisation',
        path: 'tools["github.delete_repo"].api',
        change: 'set permission "allow"',
      },
    ]);
  });

  test("lists every denial that must be removed, or one exception, and never excepts a member's own denial", async () => {
    const own = await rest.keyOf('member', ['*'], 'ann');
    await put('userPolicies/ann', { tools: { [tool]: api(deny) } }, own);
    await put('workspacePolicy', { defaults: api(deny) });
    await put('rolePolicies/member', { tools: { 'github.*': api(deny) } });
    const { wouldAllow } = await explain({ sub: 'ann' });
    const self = { part: 'self', change: 'set permission "allow"' };
    expect(wouldAllow).toMatchObject([
      [{ layer: 'workspace', path: 'defaults.api' }, { layer: 'role', path: 'tools["github.*"].api' }, self],
      [self, { part: 'organisation', change: expect.stringContaining('override') }],
    ]);
  });

  test('for a role alone, and for a service key, has no user layer', async () => {
    await put('rolePolicies/member', { tools: { [tool]: api(deny) } });
    const made = await rest.ask('POST', `${admin}/keys`, { body: { name: 'service', scopes: ['govern'] } });
    const byRole = await explain({ role: 'member' });
    expect(byRole).toMatchObject({ decision: 'deny' });
    expect(byRole.layers.map(({ document }) => document)).toEqual(['workspace', 'role:member', `agent-type:${agentType}`]);
    expect(byRole.wouldAllow[1]).toMatchObject([{ layer: 'agent-type', change: expect.stringContaining('override') }]);
    const byKey = await explain({ sub: `apikey:${field(made, 'id')}` });
    expect(byKey).toMatchObject({ decision: 'allow' });
    expect(byKey.layers.map(({ document }) => document)).toEqual(['workspace', 'role:owner', `agent-type:${agentType}`]);
  });
});

describe('a denial before policy is reported, and the folds stay as they are', () => {
  test('a frozen workspace', async () => {
    await rest.ask('POST', `${admin}/freeze`);
    expect(await explain({ sub: 'ann' })).toMatchObject({
      decision: 'deny',
      reason: expect.stringMatching(/^workspace_frozen: /),
      enforced: { permission: 'allow' },
      wouldAllow: [[{ layer: 'workspace', path: 'frozen', change: 'unfreeze the workspace' }]],
    });
  });

  test('a suspended agent, and one whose enabledTools do not name the tool', async () => {
    const id = await rest.createAgent({ name: 'bot', enabledTools: ['mail.*'] });
    await rest.ask('PATCH', `/api/v1/agents/${id}`, { body: { suspended: true } });
    await put('workspacePolicy', { defaults: api(deny) });
    expect(await explain({ sub: 'ann' })).toMatchObject({
      decision: 'deny',
      reason: 'agent_suspended: agent "bot" is suspended',
      wouldAllow: [
        [
          { layer: 'agent', document: 'bot', path: 'suspended', change: 'set false' },
          { layer: 'agent', document: 'bot', path: 'enabledTools', change: 'add "github.delete_repo"' },
          { layer: 'workspace', path: 'defaults.api' },
        ],
        expect.any(Array),
      ],
    });
    await rest.ask('PATCH', `/api/v1/agents/${id}`, { body: { suspended: false } });
    expect(await explain({ sub: 'ann' })).toMatchObject({ reason: expect.stringMatching(/^agent_tools: /) });
    expect(await explain({ sub: 'ann', agentType: 'claude-code::api::another' })).toMatchObject({
      reason: expect.stringMatching(/^policy_denied: /),
    });
  });

  test('an unregistered agent, where the workspace denies those', async () => {
    await put('workspacePolicy', { unknownAgents: 'deny' });
    expect(await explain({ sub: 'ann' })).toMatchObject({ decision: 'deny', reason: expect.stringMatching(/^agent_unknown: /) });
    await rest.createAgent({ name: 'bot', enabledTools: [tool] });
    expect(await explain({ sub: 'ann' })).toMatchObject({ decision: 'allow' });
  });

  test('a limit of zero', async () => {
    await put('workspacePolicy', { defaults: api({ rateLimit: 0 }) });
    expect(await explain({ sub: 'ann' })).toMatchObject({
      decision: 'deny',
      reason: 'rate_limited: the workspace allows 0 calls in 60 s (defaults.api)',
      enforced: { permission: 'allow', rateLimit: 0 },
      wouldAllow: [[{ path: 'defaults.api', change: expect.stringContaining('above 0') }]],
    });
  });
});

describe('permission to ask', () => {
  const statusOf = async (question: object, key = rest.owner): Promise<number> =>
    (await rest.ask('POST', `${admin}/explain`, { key, body: { agentType, tier: 'api', tool, ...question } })).status;

  test('a member may ask about themselves and about roles, and about no other member, known or not', async () => {
    const key = await rest.keyOf('member', ['*'], 'ann');
    expect(await statusOf({ sub: 'ann' }, key)).toBe(200);
    expect(await statusOf({ role: 'owner' }, key)).toBe(200);
    for (const sub of ['owner', 'absent', 'apikey:1']) expect([sub, await statusOf({ sub }, key)]).toEqual([sub, 403]);
  });

  test('a service key may ask about itself', async () => {
    const made = await rest.ask('POST', `${admin}/keys`, { body: { name: 'service', scopes: ['policies.read'] } });
    expect(await statusOf({ sub: `apikey:${field(made, 'id')}` }, field(made, 'key'))).toBe(200);
  });

  test('owners and admins may ask about every member', async () => {
    const key = await rest.keyOf('admin');
    expect(await statusOf({ sub: 'ann' }, key)).toBe(200);
    expect(await statusOf({ sub: 'absent' }, key)).toBe(400);
    expect(await statusOf({ sub: 'olga' }, key)).toBe(400);
  });
});

test('for a sub that is an agent the error names whom to ask about', async () => {
  const answer = await rest.ask('POST', `${admin}/explain`, { body: { sub: 'agent:x', agentType, tier: 'api', tool } });
  expect(answer.status).toBe(400);
  expect(errorOf(answer)).toBe('sub is an agent, and agents have no policy; use the originSub of the entry');
});

describe('cases', () => {
  const place = `tools["${tool}"].api`;
  const large = { name: 'large', when: 'args.amount > 1000', permission: 'deny', reason: 'over 1000' };
  const rule = { permission: 'allow', cases: [large] };
  const casesOf = ({ layers }: { readonly layers: readonly object[] }) =>
    layers.flatMap((layer) => ('cases' in layer ? (layer.cases as readonly Record<string, unknown>[]) : []));

  test('with an input: what holds, what it sets, and which other calls would be allowed', async () => {
    await put('workspacePolicy', { tools: { [tool]: api(rule) } });
    const denied = await explain({ sub: 'ann', input: { amount: 5000 } });
    expect(denied).toMatchObject({
      decision: 'deny',
      reason: expect.stringMatching(/cases\["large"\]\): over 1000$/),
      remedies: [{ kind: 'no_case', layer: 'workspace', path: place }],
    });
    expect(casesOf(denied)).toEqual([
      {
        path: `${place}.cases["large"]`,
        result: 'holds',
        sets: { permission: 'deny', reason: 'over 1000' },
        when: 'args.amount > 1000',
      },
    ]);
    const undecided = await explain({ sub: 'ann', input: {} });
    expect(undecided).toMatchObject({
      decision: 'deny',
      remedies: [{ kind: 'input', reason: 'absent', at: 'args.amount' }, { kind: 'no_case' }],
    });
    expect(casesOf(undecided)).toMatchObject([{ result: 'undecided', reason: 'absent', at: 'args.amount' }]);
    expect(await explain({ sub: 'ann', input: { amount: 5 } })).toMatchObject({ decision: 'allow', remedies: [] });
    expect(await explain({ sub: 'ann' })).toMatchObject({ decision: 'depends' });
  });

  test('by mode, by override, and by agent', async () => {
    await put('workspacePolicy', { mode: 'audit', tools: { [tool]: api(rule) } });
    const input = { amount: 5000 };
    expect(await explain({ role: 'member', input })).toMatchObject({ decision: 'allow', shadow: { permission: 'deny' } });
    await put('workspacePolicy', { mode: 'enforce', tools: { [tool]: api(rule) } });
    await put('rolePolicies/member', {
      tools: { [tool]: api({ override: true, cases: [{ name: 'small', when: 'args.amount < 10000', permission: 'allow' }] }) },
    });
    expect(await explain({ role: 'member', input })).toMatchObject({
      decision: 'allow',
      enforced: { attributedTo: { layer: 'role', override: true } },
    });
    expect(await explain({ role: 'member', input: { amount: 20_000 } })).toMatchObject({ decision: 'deny' });
    await put(typePath, {
      tools: { [tool]: api({ permission: 'allow', cases: [{ name: 'bot', when: 'agent.name == "bot"', permission: 'deny' }] }) },
    });
    expect(await explain({ role: 'member', input })).toMatchObject({
      decision: 'deny',
      enforced: { attributedTo: { layer: 'agent-type' } },
    });
    expect(await explain({ role: 'member', input, agentType: 'claude-code::api::other' })).toMatchObject({ decision: 'allow' });
  });

  test('conditions read the time of the control plane', async () => {
    const night = { name: 'night', when: 'now.getHours("UTC") >= 18', permission: 'deny' };
    await put('workspacePolicy', { tools: { [tool]: api({ permission: 'allow', cases: [night] }) } });
    expect(await explain({ sub: 'ann', input: {} })).toMatchObject({ decision: 'allow' });
    rest.clock.now = new Date(rest.clock.now.getTime() + 6 * 3_600_000);
    expect(await explain({ sub: 'ann', input: {} })).toMatchObject({ decision: 'deny' });
  });

  test('an input that no door accepts is refused', async () => {
    const deep: unknown = JSON.parse(`${'['.repeat(70)}${']'.repeat(70)}`);
    const answer = await rest.ask('POST', `${admin}/explain`, { body: { sub: 'ann', agentType, tier: 'api', tool, input: deep } });
    expect([answer.status, errorOf(answer)]).toEqual([400, expect.stringMatching(/^input.* is nested deeper than 64$/)]);
  });
});
