// Errors of a host, and failures of the sidecar: each is answered in a form that the host obeys.
import { bounds, type HostName, hosts, plainRedaction } from '@tollgate/proto/contract';
import { fastify } from 'fastify';
import { Registry } from 'prom-client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { timeoutMs } from '../../../../cli/commands/hook.ts';
import { createEntrance } from '../../../../sidecar/doors/entrance/entrance.ts';
import { registerHostHooks } from '../../../../sidecar/doors/coding-agents/host-hooks.ts';
import { answerHeader, hostNamed } from '../../../../proto/hosts/index.ts';
import { exportSidecar } from '../../../../sidecar/app/metrics/sidecar.ts';
import { createTestSidecar } from '../../../support/governing.ts';
import { agent, document, key, keyText, ruleFor, server, settings, type World } from '../../../support/snapshots.ts';
import { recorded, startHosts } from './recorded.ts';
import { silentLog } from '../../../support/silent-log.ts';

const anybody: World = { agents: [agent({ id: 'other', name: 'other' })] };

const inputOf = (host: HostName, name: RegExp): Readonly<Record<string, unknown>> => {
  const found = recorded.find((one) => one.host === host && name.test(one.name));
  if (found === undefined) throw new Error(`nothing is recorded of ${host} like ${String(name)}`);
  return found.input;
};
const before = (host: HostName, fields: object = {}): object => ({ ...inputOf(host, /^(?:pre|before)-(?:bash|shell)$/), ...fields });
const after = (host: HostName): Readonly<Record<string, unknown>> => inputOf(host, /^(?:post|after)-(?:bash|mcp)$|^after-shell$/);
const toolIn = (input: Readonly<Record<string, unknown>>): string => {
  const tool = input['tool_name'] ?? input['toolName'] ?? input['tool'];
  if (typeof tool !== 'string') throw new Error('no tool is named');
  return tool;
};
const beforeEvents: Readonly<Partial<Record<HostName, string>>> = {
  'claude-code': 'PreToolUse',
  codex: 'PreToolUse',
  cursor: 'preToolUse',
  'gemini-cli': 'BeforeTool',
  opencode: 'tool.execute.before',
  cline: 'beforeTool',
};
const denies = (host: HostName, text: string): boolean => hostNamed(host)?.before.denies(text) === true;

describe.each(hosts)('%s', (host) => {
  test.each([
    ['no key', ''],
    ['an unknown key', `Bearer ${keyText('absent')}`],
    ['a key without the scope', `Bearer ${keyText('reader')}`],
  ])('%s is answered with a denial that the host obeys, with 200 and no entry', async (_, authorization) => {
    const { ask, sidecar, lines } = await startHosts({ ...anybody, keys: [key(), key({ id: 'reader', scopes: ['policies.read'] })] });
    const answer = await ask(host, before(host), { authorization });
    expect(answer).toMatchObject({ status: 200, kind: 'deny' });
    expect(denies(host, answer.text)).toBe(true);
    expect(await sidecar.entries()).toEqual([]);
    expect(lines.join('')).toContain('a hook request of a host was refused');
    expect(lines.join('')).not.toContain('gsk_');
  });

  test.each([
    ['nothing', Buffer.from('')],
    ['no JSON', '{"hook_event_name":'],
    ['two values', '{} {}'],
    ['a list', '[{"tool_name":"Bash"}]'],
    ['a key that appears twice', JSON.stringify({ tool_name: 'Bash', toolName: 'bash' }).replace('{', '{"tool_name":"Read",')],
    ['bytes that are not UTF-8', Buffer.from([0x7b, 0xff, 0x7d])],
    ['a tool that is no text', JSON.stringify({ hook_event_name: 'PreToolUse', tool_name: 7, toolName: 7, tool: 7, session_id: 's' })],
    ['more than a body may have', JSON.stringify({ tool_name: 'Bash', filler: 'x'.repeat(1024 * 1024) })],
  ])('%s is a denial', async (_, body) => {
    const { ask, sidecar } = await startHosts(anybody);
    const answer = await ask(host, body);
    expect(answer).toMatchObject({ status: 200, kind: 'deny' });
    expect(denies(host, answer.text)).toBe(true);
    expect(await sidecar.entries()).toEqual([]);
  });

  test('an event about something other than a call gets an empty answer', async () => {
    const { ask } = await startHosts(anybody);
    expect(await ask(host, { hook_event_name: 'SessionStart', session_id: 's1', cwd: '/', source: 'startup' })).toEqual({
      status: 200,
      kind: 'none',
      text: hostNamed(host)?.neutral,
    });
  });

  test('a call that cannot be recorded, and a bug, are denials', async () => {
    const { ask, sidecar } = await startHosts(anybody);
    for (const fault of ['full', 'bug'] as const) {
      sidecar.spoolFault = fault;
      const answer = await ask(host, before(host));
      expect(answer).toMatchObject({ status: 200, kind: 'deny' });
      expect(denies(host, answer.text)).toBe(true);
    }
  });

  test('the canary call is denied whatever policy and tables contain, and recorded', async () => {
    const renamed = { toolNames: [[host, [['tollgate.canary', 'harmless']]]] } as const;
    const { ask, sidecar } = await startHosts({ ...anybody, settings: settings(renamed) });
    const answer = await ask(host, before(host, { tool_name: 'tollgate.canary', toolName: 'tollgate.canary', tool: 'tollgate.canary' }));
    expect(answer).toMatchObject({ status: 200, kind: 'deny' });
    expect(denies(host, answer.text)).toBe(true);
    expect(await sidecar.entries()).toMatchObject([{ tool: 'tollgate.canary', decision: 'deny', code: 'call_malformed' }]);
  });

  test("the workspace's table translates host names to ours, an exact name before the longest wildcard", async () => {
    const input = inputOf(host, /^(?:pre|before)-mcp$/);
    const theirs = toolIn(input);
    const names = [
      [theirs, 'exact.name'],
      [theirs.replace(/[^_:-]+$/, '*'), 'wild.*'],
    ] as const;
    const ask = async (table: (typeof names)[number][]) => {
      const started = await startHosts({ ...anybody, settings: settings({ toolNames: [[host, table]] }) });
      await started.ask(host, input);
      return (await started.sidecar.entries()).map(({ tool }) => tool);
    };
    expect(await ask([...names])).toEqual(['exact.name']);
    expect(await ask([names[1]])).toEqual([expect.stringMatching(/^wild\../)]);
  });

  test('an outcome is joined to its call, and both are recorded for the host', async () => {
    const { ask, sidecar } = await startHosts(anybody);
    const told = after(host);
    const { hook_event_name: _, tool_response: __, tool_output: ___, toolResult: ____, output: _____, isError: ______, ...call } = told;
    const asked = host === 'copilot-cli' ? call : { ...call, hook_event_name: beforeEvents[host] };
    expect(await ask(host, asked)).toMatchObject({ kind: 'allow' });
    expect(await ask(host, told)).toMatchObject({ kind: 'pass' });
    const [first, second] = await sidecar.entries();
    expect([first?.hookEvent, second?.hookEvent]).toEqual(['PreToolUse', 'PostToolUse']);
    expect(second?.requestId).toBe(first?.requestId);
    expect(first).toMatchObject({ client: { name: host }, agentTier: 'interactive' });
  });
});

test('an unknown host is 404', async () => {
  const { ask } = await startHosts(anybody);
  expect(await ask('emacs', {})).toMatchObject({ status: 404 });
  expect(await ask('__proto__', {})).toMatchObject({ status: 404 });
});

test('the path can contain the workspace, which must be that of the key', async () => {
  const { app } = await startHosts(anybody);
  const at = async (workspace: string) =>
    app.inject({
      method: 'POST',
      url: `/${workspace}/hooks/claude-code`,
      headers: { authorization: `Bearer ${keyText('key1')}` },
      payload: JSON.stringify(before('claude-code')),
    });
  expect((await at('acme')).body).toBe('{}');
  expect(denies('claude-code', (await at('other')).body)).toBe(true);
});

describe('the caller', () => {
  const tierOf = async (fields: object, headers: Readonly<Record<string, string>> = {}) => {
    const { ask, sidecar } = await startHosts(anybody);
    await ask('claude-code', before('claude-code', fields), headers);
    return (await sidecar.entries()).map(({ agentTier, agentName }) => `${agentTier} ${agentName}`.trim());
  };

  test('is interactive, a sub-agent of its kind, or in the background', async () => {
    expect(await tierOf({})).toEqual(['interactive']);
    expect(await tierOf({ agent_id: 'a1', agent_type: 'Explore' })).toEqual(['subagent Explore']);
    expect(await tierOf({ permission_mode: 'bypassPermissions' })).toEqual(['background']);
    expect(await tierOf({}, { 'x-tollgate-tier': 'background' })).toEqual(['background']);
    expect(await tierOf({ permission_mode: 'bypassPermissions' }, { 'x-tollgate-tier': 'interactive' })).toEqual(['background']);
  });

  const laptop = { 'x-tollgate-agent': 'ann laptop' };

  test('is the agent that the hooks were installed with, and a sub-agent below it', async () => {
    const { ask, sidecar } = await startHosts(anybody);
    const subagent = { agent_id: 'a1', agent_type: 'Explore' };
    await ask('claude-code', before('claude-code'), laptop);
    await ask('claude-code', before('claude-code', { ...subagent, tool_use_id: 't2' }), laptop);
    await ask('claude-code', { ...after('claude-code'), ...subagent, tool_use_id: 't2' }, laptop);
    const entries = await sidecar.entries();
    expect(entries.map(({ hookEvent, agentName, chain }) => [hookEvent, agentName, chain ?? null])).toEqual([
      ['PreToolUse', 'ann laptop', null],
      ['PreToolUse', 'Explore', ['ann laptop', 'Explore']],
      ['PostToolUse', 'Explore', ['ann laptop', 'Explore']],
    ]);
  });

  test('as a sub-agent is also held to the rules of the agent above it', async () => {
    const rules = document({
      id: { layer: 'agent-type', agentType: 'claude-code::subagent::ann laptop' },
      defaults: [['subagent', { permission: 'deny' }]],
    });
    const { ask } = await startHosts({ ...anybody, documents: [rules] });
    const input = before('claude-code', { agent_id: 'a1', agent_type: 'Explore' });
    expect(await ask('claude-code', input, laptop)).toMatchObject({ kind: 'deny', text: expect.stringContaining('policy_denied') });
    expect(await ask('claude-code', input)).toMatchObject({ kind: 'allow' });
  });

  test.each(['x'.repeat(201), 'a\u200bb', 'ä\u0085', ['bot', 'bot']])(
    'with an invalid name, or a name that occurs twice, is denied: %j',
    async (name) => {
      const { ask, sidecar } = await startHosts(anybody);
      const answer = await ask('codex', before('codex'), { 'x-tollgate-agent': name });
      expect(answer).toMatchObject({ kind: 'deny', text: expect.stringContaining('call_malformed: X-Tollgate-Agent must') });
      expect(await sidecar.entries()).toEqual([]);
    },
  );

  test('with an unregistered name is decided as one without a name, and denied where only known agents are allowed', async () => {
    for (const unknownAgents of ['allow', 'deny'] as const) {
      const { ask } = await startHosts({ ...anybody, settings: settings({ unknownAgents }) });
      const [named, nameless] = [await ask('codex', before('codex'), laptop), await ask('codex', before('codex'))];
      expect([named.kind, nameless.kind]).toEqual([unknownAgents, unknownAgents]);
    }
  });
});

test("one rule applies to every host's name of an MCP tool", async () => {
  const { ask } = await startHosts({ ...anybody, documents: [ruleFor('github.create_issue', { permission: 'deny' })] });
  for (const host of ['claude-code', 'codex', 'gemini-cli'] as const) {
    const { input } = recorded.find((one) => one.host === host && one.tool === 'github.create_issue') ?? { input: {} };
    expect(denies(host, (await ask(host, input)).text)).toBe(true);
  }
});

describe('a name that does not state its server', () => {
  const call = (host: HostName, tool: string): object =>
    host === 'copilot-cli'
      ? before(host, { toolName: tool })
      : { ...before(host, { tool_name: tool }), ...(host === 'cursor' ? { hook_event_name: 'preToolUse' } : {}) };
  const bare = [
    ['copilot-cli', 'github-delete_repo'],
    ['cursor', 'MCP:delete_repo'],
    ['gemini-cli', 'mcp_github_delete_repo'],
  ] as const;
  const denyOf = (tool: string) => ruleFor(tool, { permission: 'deny' });
  const github = server({ name: 'github', tools: [{ name: 'delete_repo', requiredScopes: [] }] });

  test.each(bare)('%s: %s is denied by the rule for github.delete_repo alone, registered or not', async (host, theirs) => {
    for (const servers of [[], [github]]) {
      const { ask, sidecar } = await startHosts({ ...anybody, servers, documents: [denyOf('github.delete_repo')] });
      expect(denies(host, (await ask(host, call(host, theirs))).text)).toBe(true);
      expect(await sidecar.entries()).toMatchObject([{ tool: 'github.delete_repo', code: 'policy_denied' }]);
    }
  });

  test.each(bare)('%s: %s belongs to a registered server, under the rule for all of its tools', async (host, theirs) => {
    const { ask, sidecar } = await startHosts({ ...anybody, servers: [github], documents: [denyOf('github.*')] });
    expect(denies(host, (await ask(host, call(host, theirs))).text)).toBe(true);
    expect(await sidecar.entries()).toMatchObject([{ tool: 'github.delete_repo' }]);
  });

  test.each([
    ['copilot-cli', 'github-mcp-delete_repo', ['github', 'github-mcp'], 'github.mcp-delete_repo'],
    ['cursor', 'MCP:delete_repo', ['github', 'gitlab'], 'gitlab.delete_repo'],
    ['gemini-cli', 'mcp_github_delete_repo', ['github', 'github_delete'], 'github_delete.repo'],
  ] as const)(
    '%s: %s of one of several servers is denied with their names, until the table decides between them',
    async (host, theirs, names, one) => {
      const tool = host === 'cursor' ? 'delete_repo' : 'other';
      const documents = names.map((name) => `${name}.${tool}`);
      const world: World = {
        ...anybody,
        documents: [document({ tools: documents.map((key) => [key, [['interactive', { permission: 'allow' }]]]) })],
      };
      const { ask, sidecar } = await startHosts(world);
      const { text } = await ask(host, call(host, theirs));
      expect(denies(host, text)).toBe(true);
      expect(text).toContain(one);
      expect(text).toContain('toolNames');
      expect(await sidecar.entries()).toMatchObject([{ tool: theirs, code: 'tool_ambiguous' }]);
      const said = await startHosts({ ...world, settings: settings({ toolNames: [[host, [[theirs, one]]]] }) });
      expect(denies(host, (await said.ask(host, call(host, theirs))).text)).toBe(false);
      expect(await said.sidecar.entries()).toMatchObject([{ tool: one }]);
    },
  );

  test('of several matching servers, the name belongs to the one that has the tool', async () => {
    const longer = server({ name: 'github-mcp', tools: [{ name: 'delete_repo', requiredScopes: [] }] });
    const { ask, sidecar } = await startHosts({ ...anybody, servers: [github, longer] });
    await ask('copilot-cli', call('copilot-cli', 'github-mcp-delete_repo'));
    expect(await sidecar.entries()).toMatchObject([{ tool: 'github-mcp.delete_repo' }]);
  });

  test("a rule for the host's own name still applies where a server matches: the call is denied", async () => {
    const rules = [denyOf('github-*')];
    const { ask, sidecar } = await startHosts({ ...anybody, servers: [github], documents: rules });
    expect(denies('copilot-cli', (await ask('copilot-cli', call('copilot-cli', 'github-delete_repo'))).text)).toBe(true);
    expect(await sidecar.entries()).toMatchObject([{ code: 'tool_ambiguous' }]);
  });

  test("a member's own rule changes the meaning of a name for no caller", async () => {
    const own = document({
      id: { layer: 'user', uid: 'u1', part: 'self' },
      tools: [['evil.delete_repo', [['interactive', { permission: 'allow' }]]]],
    });
    const { ask, sidecar } = await startHosts({ ...anybody, documents: [own, denyOf('mcp.delete_repo')] });
    expect(denies('cursor', (await ask('cursor', call('cursor', 'MCP:delete_repo'))).text)).toBe(true);
    expect(await sidecar.entries()).toMatchObject([{ tool: 'mcp.delete_repo', code: 'policy_denied' }]);
  });

  test.each([
    ['copilot-cli', 'bash', 'bash'],
    ['copilot-cli', 'gitlab-list', 'gitlab-list'],
    ['cursor', 'MCP:other', 'mcp.other'],
    ['gemini-cli', 'mcp_gitlab_list', 'mcp_gitlab_list'],
    ['gemini-cli', 'github_delete_repo', 'github_delete_repo'],
  ] as const)('%s: %s, of no known server, is %s', async (host, theirs, ours) => {
    const { ask, sidecar } = await startHosts({ ...anybody, servers: [github] });
    await ask(host, call(host, theirs));
    expect(await sidecar.entries()).toMatchObject([{ tool: ours }]);
  });

  test('the output of an ambiguous name, for which no call was asked, is withheld', async () => {
    const two = document({ tools: ['github.mcp-x', 'github-mcp.y'].map((key) => [key, [['interactive', { permission: 'allow' }]]]) });
    const { ask } = await startHosts({ ...anybody, documents: [two] });
    const told = { ...after('copilot-cli'), toolName: 'github-mcp-z' };
    expect(await ask('copilot-cli', told)).toMatchObject({ kind: 'block', text: expect.stringContaining('github.mcp-z') });
  });
});

test('a server in a name ends at the first two underscores', async () => {
  const { ask, sidecar } = await startHosts(anybody);
  await ask('claude-code', before('claude-code', { tool_name: 'mcp__github__create__issue' }));
  await ask('claude-code', before('claude-code', { tool_name: 'mcp__only' }));
  expect((await sidecar.entries()).map(({ tool }) => tool)).toEqual(['github.create__issue', 'mcp__only']);
});

test('a number that a double rounds is decided, and no changed input or output returns it rounded', async () => {
  const world: World = { ...anybody, documents: [document({ defaults: [['interactive', { transform: 'redact' }]] })] };
  const big = (text: string): string => text.replace('"Commits of Bob"', '12345678901234567890');
  const { ask } = await startHosts(world);
  expect(await ask('claude-code', big(JSON.stringify(before('claude-code'))))).toMatchObject({ kind: 'deny' });
  const output = JSON.stringify(after('claude-code')).replace('"isImage":false', '"isImage":12345678901234567890');
  expect(await ask('claude-code', output)).toMatchObject({ kind: 'block' });
  const clean = await startHosts(anybody);
  expect(await clean.ask('claude-code', big(JSON.stringify(before('claude-code'))))).toMatchObject({ kind: 'allow' });
});

test('JSON arguments in a text that can be parsed in two ways are decided as the text', async () => {
  const world: World = { ...anybody, documents: [ruleFor('bash', { transform: 'redact' })] };
  const { ask } = await startHosts(world);
  const twice = '{"command":"echo bob@acme-mail.eu","command":"echo ann@acme-mail.eu"}';
  expect(await ask('copilot-cli', { ...before('copilot-cli'), toolArgs: twice })).toMatchObject({ kind: 'deny' });
});

test('what Cursor and failures show their model whatever the answer is, is recorded as shown and reported in the log', async () => {
  for (const [host, name, tool] of [
    ['cursor', /^post-shell$/, 'Shell'],
    ['claude-code', /^post-failure$/, 'Bash'],
  ] as const) {
    const { ask, sidecar, lines } = await startHosts({ ...anybody, documents: [ruleFor(tool, { transform: 'redact' })] });
    expect(await ask(host, inputOf(host, name))).toMatchObject({ kind: 'pass', text: '{}' });
    expect(await sidecar.entries()).toMatchObject([
      { hookEvent: 'PostToolUse', findings: [{ kind: 'email', count: 1 }], outcome: { action: 'pass' } },
    ]);
    expect(lines.join('')).toContain('the host showed its model an output that policy blocks or redacts');
  }
});

test('a fully redacted output does not fit the shape of Claude Code: it is withheld in that shape', async () => {
  // The pattern reads to the end of the text for each of its matches, which takes more work than a payload may use.
  const redaction = { ...plainRedaction, patterns: [['slow', 'id[0-9]+(?:.*END)?']] } as const;
  const world: World = { ...anybody, settings: settings({ redaction }), documents: [ruleFor('Bash', { transform: 'redact' })] };
  const { ask } = await startHosts(world);
  const stdout = 'id1 '.repeat(20_000);
  const answer = await ask('claude-code', { ...after('claude-code'), tool_response: { stdout, stderr: '', interrupted: false } });
  const words = 'redaction_unsupported: policy redacts the output (over_budget), and this caller cannot take a changed one';
  const updatedToolOutput = { stdout: words, stderr: '', interrupted: false };
  expect(answer).toMatchObject({
    kind: 'block',
    text: JSON.stringify({ hookSpecificOutput: { hookEventName: 'PostToolUse', updatedToolOutput } }),
  });
});

test('a decision that takes longer than a hook can wait is a denial', async () => {
  const sidecar = await createTestSidecar({ world: anybody });
  const never = { ...sidecar, spool: { ...sidecar.spool, appendAsync: () => new Promise<never>(() => undefined) } };
  const app = fastify();
  onTestFinished(() => app.close());
  registerHostHooks(app, createEntrance({ sidecar: never, log: silentLog, metrics: exportSidecar(new Registry(), never) }), 20);
  for (const host of hosts) {
    const answer = await app.inject({
      method: 'POST',
      url: `/hooks/${host}`,
      headers: { authorization: `Bearer ${keyText('key1')}` },
      payload: JSON.stringify(before(host)),
    });
    expect(answer.statusCode).toBe(200);
    expect(denies(host, answer.body)).toBe(true);
    expect(answer.body).toContain('the control plane has not committed the audit entry in time');
  }
});

test('the program that hosts start waits longer than a sidecar takes', () => {
  expect(timeoutMs).toBe(bounds.hookMs);
});

test('the program that hosts start knows the header that identifies a sidecar', async () => {
  const { ask } = await startHosts(anybody);
  expect(answerHeader).toBe('x-tollgate-answer');
  expect((await ask('codex', before('codex'))).kind).toBe('allow');
});
