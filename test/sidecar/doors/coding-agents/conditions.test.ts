// Conditions over what coding agents really send: the recorded events of each host.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HostName } from '@tollgate/proto/contract';
import { describe, expect, test } from 'vitest';
import { hostNamed } from '../../../../proto/hosts/index.ts';
import { denyWhen } from '../../../support/cased-rules.ts';
import { agent, ruleFor, server } from '../../../support/snapshots.ts';
import { folder, startHosts } from './recorded.ts';

interface Recording {
  readonly input: Readonly<Record<string, unknown>>;
}

/** An event before a call, as the host sends it. Those of Cursor are not captured, but put together from its documents. */
const fileOf = (host: HostName, name: string): Recording['input'] => {
  const file = join(folder, host === 'cursor' ? '' : 'recorded', host, `${name}.json`);
  // The tests that read these files trust their shape.
  return (JSON.parse(readFileSync(file, 'utf8')) as Recording).input;
};

const agents = [agent({ id: 'other', name: 'other' })];
const every = server({ name: 'every', tools: [{ name: 'get-sum', requiredScopes: [] }] });

async function decisionOf(host: HostName, event: object | string, tool: string, when: string) {
  const { ask, sidecar } = await startHosts({ agents, servers: [every], documents: [ruleFor(tool, denyWhen(when))] });
  const { text } = await ask(host, event);
  const [entry] = await sidecar.entries();
  return { decision: hostNamed(host)?.before.denies(text) === true ? 'deny' : 'allow', entry, text };
}

// What the page of coding agents says of `args`: docs/doors/coding-agents.md.
const shells: readonly (readonly [HostName, event: string, tool: string, command: string])[] = [
  ['claude-code', 'PreToolUse-Bash', 'Bash', 'args.command'],
  ['codex', 'PreToolUse-Bash', 'Bash', 'args.command'],
  ['cursor', 'pre-shell', 'Shell', 'args.command'],
  ['cursor', 'before-shell-execution', 'Shell', 'args.command'],
  ['gemini-cli', 'BeforeTool-run_shell_command', 'run_shell_command', 'args.command'],
  ['copilot-cli', 'preToolUse-bash', 'bash', 'args.command'],
  ['opencode', 'tool.execute.before-bash', 'bash', 'args.command'],
  ['cline', 'beforeTool-run_commands', 'run_commands', 'args.commands[0]'],
];
const files: readonly (readonly [HostName, event: string, tool: string, path: string])[] = [
  ['claude-code', 'PreToolUse-Write', 'Write', 'args.file_path'],
  ['claude-code', 'PreToolUse-Read', 'Read', 'args.file_path'],
  ['gemini-cli', 'BeforeTool-write_file', 'write_file', 'args.file_path'],
  ['copilot-cli', 'preToolUse-view', 'view', 'args.path'],
  ['opencode', 'tool.execute.before-write', 'write', 'args.filePath'],
  ['cline', 'beforeTool-read_files', 'read_files', 'args.files[0].path'],
];
const mcp: readonly (readonly [HostName, event: string])[] = [
  ['claude-code', 'PreToolUse-mcp__every__get-sum'],
  ['codex', 'PreToolUse-mcp__every__get_sum'],
  ['gemini-cli', 'BeforeTool-mcp_every_get-sum'],
  ['copilot-cli', 'preToolUse-every-get-sum'],
];

describe.each(shells)('%s, %s', (host, event, tool, command) => {
  test(`the command of ${tool} is ${command}`, async () => {
    const body = fileOf(host, event);
    const allowed = await decisionOf(host, body, tool, `${command}.contains("nothing like it")`);
    expect(allowed).toMatchObject({ decision: 'allow', entry: { tool, code: 'allowed' } });
    expect(allowed.entry).not.toHaveProperty('undecided');
    const denied = await decisionOf(host, body, tool, `${command}.matches("^(echo|sleep|git) ")`);
    expect(denied).toMatchObject({ decision: 'deny', entry: { tool, code: 'policy_denied' } });
    expect(denied.entry).not.toHaveProperty('undecided');
    expect(denied.text).toContain('cases[');
  });
});

test.each(files)('%s, %s: the path of %s is %s', async (host, event, tool, path) => {
  const body = fileOf(host, event);
  expect(await decisionOf(host, body, tool, `!path(${path}).within("/home/ann/shop")`)).toMatchObject({ decision: 'allow' });
  const denied = await decisionOf(host, body, tool, `!path(${path}).within("/srv")`);
  expect(denied.decision).toBe('deny');
  expect(denied.entry).not.toHaveProperty('undecided');
});

test.each(mcp)('%s, %s: args of a tool of an MCP server are its arguments', async (host, event) => {
  const body = fileOf(host, event);
  const tool = 'every.get-sum';
  expect(await decisionOf(host, body, tool, 'args.b > 100')).toMatchObject({ decision: 'allow', entry: { tool } });
  const denied = await decisionOf(host, body, tool, 'args.b >= 2');
  expect(denied).toMatchObject({ decision: 'deny', entry: { tool } });
  expect(denied.entry).not.toHaveProperty('undecided');
});

test('Codex sends a patch as one text: its files are in no field', async () => {
  const body = fileOf('codex', 'PreToolUse-apply_patch');
  expect(await decisionOf('codex', body, 'apply_patch', 'args.command.contains("*** Delete File")')).toMatchObject({ decision: 'allow' });
  expect(await decisionOf('codex', body, 'apply_patch', '!path(args.path).within("/srv")')).toMatchObject({
    decision: 'deny',
    entry: { undecided: [{ reason: 'absent', at: 'args.path' }] },
  });
});

test('Cursor sends the arguments of an MCP tool as a text of JSON, which is read', async () => {
  const body = fileOf('cursor', 'pre-mcp');
  expect(await decisionOf('cursor', body, 'postdaily.create_post', 'args.text.contains("nothing like it")')).toMatchObject({
    decision: 'allow',
  });
  expect(await decisionOf('cursor', body, 'postdaily.create_post', 'args.text.startsWith("Ask ")')).toMatchObject({ decision: 'deny' });
  // What could be read in two ways stays a text, of which no field can be read.
  const twice = { ...body, tool_input: '{"text": "x", "text": "Ask bob"}' };
  expect(await decisionOf('cursor', twice, 'postdaily.create_post', 'args.text.startsWith("Ask ")')).toMatchObject({
    decision: 'deny',
    entry: { undecided: [{ reason: 'type', at: 'args.text' }] },
  });
});

test('a number that a double would round is undecided, and its call may have no changed input', async () => {
  const event = (n: string): string =>
    `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Pay","tool_use_id":"t","tool_input":{"n":${n}}}`;
  expect(await decisionOf('claude-code', event('5'), 'Pay', 'args.n == "9007199254740993"')).toMatchObject({ decision: 'deny' });
  expect(await decisionOf('claude-code', event('5'), 'Pay', 'args.n > 100')).toMatchObject({ decision: 'allow' });
  for (const when of ['args.n > 100', 'args.n == "9007199254740993.0"'])
    expect(await decisionOf('claude-code', event('9007199254740993.0'), 'Pay', when)).toMatchObject({
      decision: 'deny',
      entry: { input: { n: '9007199254740993.0' }, undecided: [{ reason: 'rounded', at: 'args.n' }] },
    });
});

test('two names of one call are decided by the cases of both', async () => {
  const body = fileOf('opencode', 'tool.execute.before-read_mcp_resource');
  // The host's own tool, and the request that it sends to a server.
  for (const tool of ['every.resources/read', 'read_mcp_resource']) {
    expect(await decisionOf('opencode', body, tool, 'args.server == "nothing like it"')).toMatchObject({ decision: 'allow' });
    expect(await decisionOf('opencode', body, tool, 'args.server == "every"')).toMatchObject({ decision: 'deny' });
  }
});
