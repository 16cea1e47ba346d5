// The meaning of a host's tool name, from what the host sends and what is known: one tool, or several, and then none.
import type { HostName, Rule } from '@tollgate/proto/contract';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createPolicyCell } from '../../../../sidecar/engine/snapshot/cell.ts';
import { agent, deltaBetween, document, server, settings, snapshotMessage, type World } from '../../../support/snapshots.ts';
import { indexOf, outcomeOf } from './asked.ts';
import { startHosts } from './recorded.ts';

const tiers = ['interactive', 'subagent', 'background', 'api'] as const;
type Keys = Readonly<Record<string, Rule>>;
const deny: Rule = { permission: 'deny' };
const allow: Rule = { permission: 'allow' };
const toolsOf = (keys: Keys) => Object.entries(keys).map(([key, rule]) => [key, tiers.map((tier) => [tier, rule] as const)] as const);
const policy = (keys: Keys, rest: World = {}): World => ({ documents: [document({ tools: toolsOf(keys) })], ...rest });
const registered = (name: string, ...tools: readonly string[]) =>
  server({ name, tools: tools.map((tool) => ({ name: tool, requiredScopes: [] })) });

const pre = (tool_name: string, fields: object = {}) => ({
  session_id: 's1',
  hook_event_name: 'PreToolUse',
  tool_name,
  tool_input: {},
  ...fields,
});
/** A name as Gemini CLI cuts it in the middle. */
const before = (name: string, mcp_context?: object) => ({
  ...pre(`${name.slice(0, 30)}...${name.slice(-30)}`, mcp_context === undefined ? {} : { mcp_context }),
  hook_event_name: 'BeforeTool',
});
const copilot = (toolName: string) => ({ sessionId: 's1', toolName, toolArgs: {} });
const claude = (tool: string, name: string) => pre(tool, { mcp_server: { name, source: 'dynamic' } });
const ask = (world: World, host: HostName, input: object) => outcomeOf(indexOf(world), host, { ...input });
const tool = (tool_name: string, code: string) => ({ tool: tool_name, code });

const longTool = 'a.tool.whose.name.is.so.long.that.copilot.cuts.it.at.sixty-four';

describe('the name that a host makes of a denied tool', () => {
  test.each<readonly [HostName, object, string, string, string]>([
    ['codex', pre('mcp__every__get_env'), 'every', 'get-env', 'every.get-env'],
    ['codex', pre('mcp__stub__tags_delete'), 'stub', 'tags.delete', 'stub.tags.delete'],
    ['claude-code', pre('mcp__stub__tags_delete'), 'stub', 'tags.delete', 'stub.tags.delete'],
    ['claude-code', claude('mcp__stub__tags_delete', 'stub'), 'stub', 'tags.delete', 'stub.tags.delete'],
    ['codex', pre('mcp__stub__tags_delete'), 'stub', 'tags.delete', 'stub.tags.*'],
    ['claude-code', claude('mcp__stub__tags_delete', 'stub'), 'stub', 'tags/delete', 'stub.tags/*'],
    ['copilot-cli', copilot('odd-srv-del-thing'), 'odd-srv', 'del.thing', 'odd-srv.del.thing'],
    ['copilot-cli', copilot(`odd-srv-${longTool}`.replaceAll('.', '-').slice(0, 64)), 'odd-srv', longTool, `odd-srv.${longTool}`],
    ['cursor', { ...pre('MCP:delete_repo'), hook_event_name: 'preToolUse' }, 'github', 'delete_repo', 'github.*'],
  ])('%s: %j', (host, input, name, named, key) => {
    const known = ask(policy({ [key]: deny }, { servers: [registered(name, named)] }), host, input);
    expect(known).toMatchObject({ tool: `${name}.${named}`, code: 'policy_denied' });
    const unknown = ask(policy({ [key]: deny }), host, input);
    expect(unknown).toMatchObject({ code: 'tool_ambiguous', reason: expect.stringContaining(JSON.stringify(key)) });
    expect(unknown.reason).toContain('toolNames of the workspace document');
  });

  const digest = '_0123456789ab';
  const endless = 'a.tool.whose.name.does.not.end.'.repeat(5).slice(0, 150);
  const cutAt = (max: number, name: string): string => name.replaceAll(/[^a-z0-9]/g, '_').slice(0, max - digest.length) + digest;

  test.each<readonly [string, HostName, object, string]>([
    ['of two that Codex writes alike', 'codex', pre(`mcp__every__get_env${digest}`), 'every.get-env'],
    ['of one of two servers that Codex writes alike', 'codex', pre(`mcp__foo_bar${digest}__x`), 'foo-bar.x'],
    ['of both', 'codex', pre(`mcp__foo_bar${digest}__a_b${digest}`), 'foo-bar.a-b'],
    ['of one of two servers, by a wildcard', 'codex', pre(`mcp__foo_bar${digest}__x`), 'foo-bar.*'],
    ['cut at 128 by Codex', 'codex', pre(cutAt(128, `mcp__every__${endless}`)), `every.${endless}`],
    ['cut behind a digest', 'codex', pre(cutAt(64, `mcp__a_b${digest}__${endless}`)), `a-b.${endless}`],
    ['of a connector of Claude', 'claude-code', pre('mcp__claude_ai_Foo_beta__x'), 'claude.ai Foo (beta).x'],
    ['of a connector of Claude, by a wildcard', 'claude-code', pre('mcp__claude_ai_Foo_beta__x'), 'claude.ai Foo (beta).*'],
  ])('a name %s', (_, host, input, key) => {
    const { code, reason } = ask(policy({ [key]: deny }), host, input);
    expect(code).toBe('tool_ambiguous');
    expect(reason).toContain(JSON.stringify(key));
  });

  test('a name that Codex made of two registered tools with one spelling', () => {
    const world = policy({ 'every.get-env': deny }, { servers: [registered('every', 'get-env', 'get_env')] });
    expect(ask(world, 'codex', pre(`mcp__every__get_env${digest}`))).toMatchObject({ code: 'tool_ambiguous' });
    const alone = policy({ 'every.get-env': deny }, { servers: [registered('every', 'get-env')] });
    expect(ask(alone, 'codex', pre(`mcp__every__get_env${digest}`))).toMatchObject(tool('every.get-env', 'policy_denied'));
  });

  test.each<readonly [HostName, object, string, string]>([
    ['gemini-cli', before(`mcp_srv_${endless}`), 'mcp_srv_*', 'srv.*'],
    ['gemini-cli', before(`mcp_srv_${endless}`, { server_name: 'srv', tool_name: endless }), 'mcp_srv_*', 'srv.*'],
    ['codex', pre(`mcp__srv__get_env${digest}`), 'mcp__srv__*', 'srv.*'],
  ])("a name of %s whose ending a row of the workspace's table keeps", (host, input, theirs, ours) => {
    const world = policy(
      { [`srv.${endless}`]: deny, 'srv.get-env': deny },
      { settings: settings({ toolNames: [[host, [[theirs, ours]]]] }) },
    );
    expect(ask(world, host, input)).toMatchObject({ code: 'tool_ambiguous' });
  });

  test('is denied to the host in its format, and recorded', async () => {
    const { ask: send, sidecar } = await startHosts({
      ...policy({ 'every.get-env': deny }),
      agents: [agent({ id: 'other', name: 'other' })],
    });
    const answer = await send('codex', pre('mcp__every__get_env'));
    expect(answer).toMatchObject({ status: 200, kind: 'deny', text: expect.stringContaining('tool_ambiguous: ') });
    expect(await sidecar.entries()).toMatchObject([{ tool: 'mcp__every__get_env', decision: 'deny', code: 'tool_ambiguous' }]);
  });
});

describe('a name', () => {
  test('of an unknown tool is decided as it was sent', () => {
    expect(ask({}, 'codex', pre('mcp__every__get_env'))).toMatchObject(tool('every.get_env', 'allowed'));
    expect(ask(policy({ 'other.get-env': deny }), 'codex', pre('mcp__every__get_env'))).toMatchObject(tool('every.get_env', 'allowed'));
    expect(ask({}, 'codex', pre('mcp__a__b__c'))).toMatchObject(tool('a.b__c', 'allowed'));
  });

  test('that a rule contains unchanged has that meaning', () => {
    expect(ask(policy({ 'every.get_env': deny }), 'codex', pre('mcp__every__get_env'))).toMatchObject(
      tool('every.get_env', 'policy_denied'),
    );
    expect(ask(policy({ 'every.get-env': deny }), 'claude-code', pre('mcp__every__get-env'))).toMatchObject(
      tool('every.get-env', 'policy_denied'),
    );
    // A host that keeps hyphens never uses one name for the other.
    expect(ask(policy({ 'every.get-env': deny }), 'claude-code', claude('mcp__every__get_env', 'every'))).toMatchObject(
      tool('every.get_env', 'allowed'),
    );
  });

  test('of one registered tool is that tool, and a name of two tools is denied', () => {
    const one = { servers: [registered('every', 'get-env', 'echo')] };
    expect(ask(one, 'codex', pre('mcp__every__get_env'))).toMatchObject(tool('every.get-env', 'allowed'));
    const two = { servers: [registered('every', 'get-env', 'get.env', 'get/env', 'get env')] };
    expect(ask(two, 'codex', pre('mcp__every__get_env'))).toMatchObject({
      code: 'tool_ambiguous',
      reason:
        '"mcp__every__get_env" could be "every.get env" or "every.get-env" or "every.get.env" or one of 1 more: say which in toolNames of the workspace document',
    });
  });

  test('of a registered tool does not bypass a rule that names it as the host writes it', () => {
    const servers = [registered('every', 'get-env')];
    expect(ask(policy({ 'every.get_env': deny }, { servers }), 'codex', pre('mcp__every__get_env')).code).toBe('tool_ambiguous');
    expect(ask(policy({ 'mcp__every__*': deny }, { servers }), 'codex', pre('mcp__every__get_env')).code).toBe('tool_ambiguous');
    expect(ask(policy({ 'every.*': deny }, { servers }), 'codex', pre('mcp__every__get_env'))).toMatchObject(
      tool('every.get-env', 'policy_denied'),
    );
  });

  test('that two servers can have is denied', () => {
    const both = policy({ 'a.b__c': allow, 'a__b.c': allow });
    expect(ask(both, 'codex', pre('mcp__a__b__c')).code).toBe('tool_ambiguous');
    expect(ask(both, 'claude-code', claude('mcp__a__b__c', 'a__b'))).toMatchObject(tool('a__b.c', 'allowed'));
    expect(ask(policy({ 'a__b.*': deny }), 'codex', pre('mcp__a__b__c'))).toMatchObject(tool('a__b.c', 'policy_denied'));
    expect(ask(policy({ 'a__b.*': deny, 'a.x': allow }), 'codex', pre('mcp__a__b__c')).code).toBe('tool_ambiguous');
  });

  test("is settled by the workspace's table, and an ending that the table keeps is checked like the rest", () => {
    const named = (names: Readonly<Record<string, string>>, keys: Keys): World =>
      policy(keys, { settings: settings({ toolNames: [['codex', Object.entries(names)]] }) });
    const keys = { 'every.get-env': deny, 'every.get.env': allow };
    expect(ask(named({ mcp__every__get_env: 'every.get.env' }, keys), 'codex', pre('mcp__every__get_env'))).toMatchObject(
      tool('every.get.env', 'allowed'),
    );
    expect(ask(named({ 'mcp__every__*': 'every.*' }, keys), 'codex', pre('mcp__every__get_env')).code).toBe('tool_ambiguous');
    expect(ask(named({ 'mcp__every__*': 'all.*' }, keys), 'codex', pre('mcp__every__get_env'))).toMatchObject(
      tool('all.get_env', 'allowed'),
    );
  });
});

describe('the server that a host sends in addition to the name', () => {
  test('is used where both agree', () => {
    expect(ask({}, 'claude-code', claude('mcp__my_srv_x__plain', 'my srv.x'))).toMatchObject(tool('my srv.x.plain', 'allowed'));
    expect(ask(policy({ 'my srv.x.*': deny }), 'claude-code', claude('mcp__my_srv_x__plain', 'my srv.x')).code).toBe('policy_denied');
    expect(ask({}, 'claude-code', claude('mcp__claude_ai_Mail__send', 'claude.ai  Mail'))).toMatchObject(
      tool('claude.ai  Mail.send', 'allowed'),
    );
  });

  test.each([
    ['mcp__github__delete', 'harmless'],
    ['mcp__my_srv__delete', 'my-srv'],
    ['mcp__a__', 'a'],
    ['Bash', 'github'],
  ])('%s and a server %s are denied', (name, said) => {
    expect(ask(policy({ 'github.delete': deny }), 'claude-code', claude(name, said))).toMatchObject({
      code: 'tool_ambiguous',
      reason: expect.stringContaining(said),
    });
  });

  test('is not used where Gemini CLI calls the tool by another name', () => {
    const said = (tool_name: string, server_name: string, name: string) => ({
      ...pre(tool_name, { mcp_context: { server_name, tool_name: name } }),
      hook_event_name: 'BeforeTool',
    });
    for (const name of ['mcp_odd-srv_del.thing', 'del.thing', 'odd-srv__del.thing', 'mcp__odd-srv__del.thing'])
      expect(ask({}, 'gemini-cli', said(name, 'odd-srv', 'del.thing'))).toMatchObject(tool('odd-srv.del.thing', 'allowed'));
    expect(ask({}, 'gemini-cli', said('mcp_github_delete', 'odd-srv', 'plain')).code).toBe('tool_ambiguous');
  });
});

describe('resources', () => {
  const read = (name: string, named: unknown) => pre(name, { tool_input: { server: named, uri: 'a:b' } });
  test.each([
    ['codex', 'read_mcp_resource', 'resources/read'],
    ['codex', 'list_mcp_resources', 'resources/list'],
    ['codex', 'list_mcp_resource_templates', 'resources/templates/list'],
    ['claude-code', 'ReadMcpResourceTool', 'resources/read'],
    ['claude-code', 'ListMcpResourcesTool', 'resources/list'],
  ] as const)('%s: %s is decided as %s of its server, and rules for its own name apply too', (host, name, method) => {
    const asked = (keys: Keys, settled: World = {}) => ask(policy(keys, settled), host, read(name, 'every'));
    expect(asked({})).toMatchObject({ tool: `every.${method}`, also: name, code: 'allowed' });
    expect(asked({ [`every.${method}`]: deny })).toMatchObject({
      code: 'policy_denied',
      rule: { path: `tools["every.${method}"].interactive` },
    });
    expect(asked({ 'every.*': deny, [name]: allow }).code).toBe('policy_denied');
    expect(asked({ [name]: deny, [`every.${method}`]: allow })).toMatchObject({
      code: 'policy_denied',
      rule: { path: `tools["${name}"].interactive` },
    });
    // A default applies to the call once.
    const closed = { settings: settings({ defaultPermission: 'deny' as const }) };
    expect(asked({}, closed).code).toBe('policy_denied');
    expect(asked({ [`every.${method}`]: allow }, closed).code).toBe('allowed');
    expect(asked({ [name]: allow }, closed).code).toBe('policy_denied');
  });

  test('of a server that is written as a host writes it, or with blanks around it, are denied too', () => {
    const denied = policy({ 'my srv.x.resources/read': deny });
    expect(ask(denied, 'claude-code', read('ReadMcpResourceTool', 'my srv.x'))).toMatchObject(
      tool('my srv.x.resources/read', 'policy_denied'),
    );
    expect(ask(denied, 'claude-code', read('ReadMcpResourceTool', ' my srv.x\n')).code).toBe('policy_denied');
    expect(ask(denied, 'claude-code', read('ReadMcpResourceTool', 'my_srv_x')).code).toBe('tool_ambiguous');
  });

  test.each([undefined, null, 7, '', ' '])('of no server (%s) are the host’s own tool', (named) => {
    expect(ask(policy({ read_mcp_resource: deny }), 'codex', read('read_mcp_resource', named))).toMatchObject(
      tool('read_mcp_resource', 'policy_denied'),
    );
  });

  test("a limit and a redaction of the host's own name apply, and the call counts once", async () => {
    const { ask: send, sidecar } = await startHosts({
      ...policy({ 'every.*': { rateLimit: 5 }, read_mcp_resource: { rateLimit: 1, transform: 'redact' } }),
      agents: [agent({ id: 'other', name: 'other' })],
    });
    const asked = { ...read('read_mcp_resource', 'every'), tool_input: { server: 'every', uri: 'mailto:' } };
    expect(await send('codex', asked)).toMatchObject({ kind: 'allow' });
    expect(await send('codex', asked)).toMatchObject({ kind: 'deny' });
    expect(await sidecar.entries()).toMatchObject([
      { tool: 'every.resources/read', decision: 'allow', transform: 'redact' },
      { tool: 'every.resources/read', decision: 'deny', code: 'rate_limited' },
    ]);
  });
});

describe('the rules that count', () => {
  const own = (uid: string, part: 'self' | 'organisation', keys: Keys, mode: 'enforce' | 'audit' = 'enforce') =>
    document({ id: { layer: 'user', uid, part }, tools: toolsOf(keys), mode });

  test('of a member apply to that member, and change nothing for others', () => {
    const input = pre('mcp__every__get_env');
    expect(ask({ documents: [own('ann', 'self', { 'every.get-env': deny })] }, 'codex', input).code).toBe('tool_ambiguous');
    expect(ask({ documents: [own('bob', 'self', { 'every.get-env': deny })] }, 'codex', input)).toMatchObject(
      tool('every.get_env', 'allowed'),
    );
    const other = document({ id: { layer: 'role', role: 'owner' }, tools: toolsOf({ 'every.get-env': deny }) });
    expect(ask({ documents: [other] }, 'codex', input).code).toBe('allowed');
  });

  test('of a member never choose the meaning of a name', () => {
    const listed = { agents: [agent({ id: 'a', name: 'helper', enabledTools: ['crm.*'] })] };
    const asked = (documents: World['documents']) => {
      const world = { ...listed, ...(documents === undefined ? {} : { documents }) };
      return outcomeOf(indexOf(world), 'copilot-cli', copilot('crm-list')).tool;
    };
    expect(asked([own('ann', 'self', { 'crm.list': allow })])).toBe('crm-list');
    expect(asked([own('ann', 'organisation', { 'crm.list': allow })])).toBe('crm.list');
  });

  test('of a document in audit mode deny nothing', () => {
    const input = pre('mcp__every__get_env');
    expect(ask({ documents: [document({ mode: 'audit', tools: toolsOf({ 'every.get-env': deny }) })] }, 'codex', input)).toMatchObject(
      tool('every.get_env', 'allowed'),
    );
  });
});

test('a name that is too long or invalid is rejected before it is compared', () => {
  const denied = policy({ 'every.*': deny });
  for (const name of [`mcp__every__${'x'.repeat(300)}`, 'mcp__every__a\nb', `mcp__${'_'.repeat(100_000)}`])
    expect(ask(denied, 'codex', pre(name))).toMatchObject({ code: 'call_malformed' });
  expect(ask(denied, 'claude-code', claude('mcp__every__x', 'y'.repeat(100_000))).reason.length).toBeLessThan(1_000);
});

test('more names of one spelling than are compared are all denied', () => {
  const many = Object.fromEntries('.,;:+=()!?<>[]{}@#%'.split('').map((one) => [`every.get${one}env`, allow]));
  expect(ask(policy(many), 'codex', pre('mcp__every__get_env')).code).toBe('tool_ambiguous');
});

test('the outcome of a call that was sent with its server is joined to it, even where Cursor does not send the server again', async () => {
  const { ask: send, sidecar } = await startHosts({ ...policy({ 'github.*': allow }), agents: [agent({ id: 'other', name: 'other' })] });
  const event = { conversation_id: 'c1', tool_name: 'MCP:list', tool_input: '{}', tool_use_id: 't1' };
  expect(await send('cursor', { ...event, hook_event_name: 'preToolUse', mcp_server_name: 'github' })).toMatchObject({ kind: 'allow' });
  expect(await send('cursor', { ...event, hook_event_name: 'postToolUse', tool_output: '{}' })).toMatchObject({ kind: 'pass' });
  const [asked, told] = await sidecar.entries();
  expect([asked?.tool, told?.tool, told?.requestId]).toEqual(['github.list', 'github.list', asked?.requestId]);
});

test('a snapshot built from deltas finds the same names as a whole snapshot', () => {
  const name = fc.constantFrom('get-env', 'get_env', 'get.env', 'tags.delete', longTool, 'x');
  const world: fc.Arbitrary<World> = fc
    .record({
      servers: fc.uniqueArray(fc.tuple(fc.constantFrom('every', 'stub', 'odd-srv'), fc.uniqueArray(name, { maxLength: 4 })), {
        selector: ([one]) => one,
      }),
      keys: fc.dictionary(
        fc.tuple(fc.constantFrom('every.', 'stub.'), fc.oneof(name, fc.constant('*'))).map((parts) => parts.join('')),
        fc.constant(deny),
      ),
      hasRole: fc.boolean(),
    })
    .map(({ servers, keys, hasRole }) => ({
      servers: servers.map(([one, tools]) => registered(one, ...tools)),
      documents: [
        document({ tools: toolsOf(keys) }),
        ...(hasRole ? [document({ id: { layer: 'role', role: 'member' }, tools: toolsOf(keys) })] : []),
      ],
    }));
  fc.assert(
    fc.property(fc.array(world, { minLength: 2, maxLength: 4 }), (worlds) => {
      const cell = createPolicyCell({ now: () => 0 }, 'acme');
      cell.heard(9);
      const messages = worlds.map((one, at) => snapshotMessage({ ...one, revision: at + 1 }));
      const [first, ...later] = messages;
      if (first === undefined) throw new Error('there is no world');
      expect(cell.offer(first)).toMatchObject({ ok: true });
      for (const [at, message] of later.entries())
        expect(cell.change(deltaBetween(messages[at] ?? first, message))).toMatchObject({ ok: true });
      const whole = indexOf({ ...worlds.at(-1), agents: [agent()] });
      expect(cell.current?.spelledTools).toEqual(whole.spelledTools);
      expect(cell.current?.documents).toEqual(whole.documents);
    }),
    { numRuns: 200 },
  );
});
