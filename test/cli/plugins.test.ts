// The plugins that OpenCode and Cline load, run here as they load them: the answer of `tollgate hook` is enforced, and
// everything else is a denial.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { commandIn, pluginMark, pluginTexts } from '../../cli/hooks/plugin-file.ts';
import { keyText } from '../support/snapshots.ts';
import { folder, jsonOf, run } from './cli.ts';

type Answers = Readonly<Record<string, unknown>>;
type Hook = (...given: readonly unknown[]) => Promise<unknown>;

/** A program in place of `tollgate hook`: it prints `said` for the event, and records its requests. */
function program(said: string, more = ''): { readonly command: string; asked(): readonly Answers[] } {
  const home = folder();
  const [script, log] = [join(home, 'hook.cjs'), join(home, 'asked')];
  writeFileSync(
    script,
    `const text = require('node:fs').readFileSync(0, 'utf8');
require('node:fs').appendFileSync(${JSON.stringify(log)}, text + '\\n');
process.stdout.write(${JSON.stringify(said)});
${more}`,
  );
  return {
    command: `"${process.execPath}" "${script}"`,
    asked: () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []).map((line): Answers => JSON.parse(line)),
  };
}

async function load(text: string): Promise<Readonly<Record<string, unknown>>> {
  const path = join(folder(), 'plugin.mjs');
  writeFileSync(path, text);
  return import(pathToFileURL(path).href);
}

async function opencode(command: string, edit = (text: string): string => text): Promise<Readonly<Record<string, Hook>>> {
  const { Tollgate } = await load(edit(pluginTexts.opencode(command)));
  if (typeof Tollgate !== 'function') throw new Error('the file exports no plugin');
  return Tollgate({});
}

async function cline(command: string, edit = (text: string): string => text): Promise<Readonly<Record<string, Hook>>> {
  const { plugin } = (await load(edit(pluginTexts.cline(command)))) as { plugin: { hooks: Readonly<Record<string, Hook>> } };
  return plugin.hooks;
}

const call = { tool: 'bash', sessionID: 'ses_1', callID: 'call_1' };
const toolCall = { toolCallId: 'call_1', toolName: 'run_commands' };
const clineCall = { snapshot: { conversationId: 'conv_1' }, tool: { name: 'run_commands' }, toolCall, input: { commands: ['ls'] } };

const noAnswers: readonly (readonly [string, string, string])[] = [
  ['nothing', '', ''],
  ['no JSON', 'allowed', ''],
  ['another word', '{"decision":"yes"}', ''],
  ['a denial without a reason', '{"decision":"deny"}', ''],
  ['an allow, and ends with 1', '{"decision":"allow"}', 'process.exitCode = 1;'],
  ['an allow of an output for an input', '{"decision":"pass"}', ''],
  ['null', 'null', ''],
];

describe('OpenCode', () => {
  test('an allowed call is asked about, and continues unchanged', async () => {
    const hook = program('{"decision":"allow"}');
    const hooks = await opencode(hook.command);
    await hooks['event']?.({ event: { type: 'session.created', properties: { info: { id: 'ses_1', parentID: 'ses_0' } } } });
    const output = { args: { command: 'ls' } };
    await hooks['tool.execute.before']?.(call, output);
    expect(output).toEqual({ args: { command: 'ls' } });
    expect(hook.asked()).toEqual([{ hook_event_name: 'tool.execute.before', ...call, parentID: 'ses_0', args: { command: 'ls' } }]);
  });

  test('an input is changed in the object that the tool holds', async () => {
    const hooks = await opencode(program('{"decision":"allow","input":{"command":"[redacted]"}}').command);
    const args = { command: 'secret', more: 1 };
    await hooks['tool.execute.before']?.(call, { args });
    expect(args).toEqual({ command: '[redacted]' });
  });

  test.each(noAnswers)('%s is a denial', async (_, said, more) => {
    const hooks = await opencode(program(said, more).command);
    await expect(hooks['tool.execute.before']?.(call, { args: {} })).rejects.toThrow(/^outage: the program tollgate/);
  });

  test('a missing program, and one that does not answer, are denials too', async () => {
    const gone = await opencode('/nowhere/tollgate hook opencode');
    await expect(gone['tool.execute.before']?.(call, { args: {} })).rejects.toThrow('run tollgate hooks install again');
    const late = await opencode(program('', 'setInterval(() => undefined, 1000);').command, (text) =>
      text.replace('waitMs = 10000', 'waitMs = 1'),
    );
    await expect(late['tool.execute.before']?.(call, { args: {} })).rejects.toThrow('did not answer within');
  });

  test('the text of a tool and the answer of a server are replaced, or withheld with the reason', async () => {
    const text = await opencode(program('{"decision":"pass","output":"[redacted]"}').command);
    const told = { title: 'ls', output: 'secret', metadata: {} };
    await text['tool.execute.after']?.({ ...call, args: {} }, told);
    expect(told).toEqual({ title: 'ls', output: '[redacted]', metadata: {} });
    const server = await opencode(program('{"decision":"pass","output":{"content":[]}}').command);
    const answer = { content: [{ type: 'text', text: 'secret' }], structuredContent: { secret: 1 } };
    await server['tool.execute.after']?.({ ...call, args: {} }, answer);
    expect(answer).toEqual({ content: [] });
    const withheld = await opencode(program('{"decision":"block","reason":"policy_denied: no"}').command);
    await expect(withheld['tool.execute.after']?.({ ...call, args: {} }, told)).rejects.toThrow('policy_denied: no');
  });

  test('the error of a call that threw is asked about once, and our own refusals are not', async () => {
    const hook = program('{"decision":"pass","output":"[redacted]"}');
    const hooks = await opencode(hook.command);
    const failed = { type: 'tool', ...call, callID: 'call_2', state: { status: 'error', input: {}, error: 'secret' } };
    const messages = () => [{ parts: [{ type: 'text' }, { ...failed }] }];
    for (const once of [messages(), messages()]) {
      await hooks['experimental.chat.messages.transform']?.({}, { messages: once });
      expect(once[0]?.parts[1]).toMatchObject({ state: { status: 'error', error: '[redacted]' } });
    }
    expect(hook.asked()).toMatchObject([{ hook_event_name: 'tool.execute.after', callID: 'call_2', output: 'secret', isError: true }]);
    const denied = program('{"decision":"deny","reason":"policy_denied: no"}');
    const denying = await opencode(denied.command);
    await expect(denying['tool.execute.before']?.({ ...call, callID: 'call_2' }, { args: {} })).rejects.toThrow('policy_denied: no');
    await denying['experimental.chat.messages.transform']?.({}, { messages: messages() });
    expect(denied.asked()).toHaveLength(1);
  });
});

describe('Cline', () => {
  test('a call is allowed, changed, or skipped with the reason', async () => {
    const hook = program('{"decision":"allow"}');
    expect(await (await cline(hook.command))['beforeTool']?.(clineCall)).toBeUndefined();
    expect(hook.asked()).toEqual([
      {
        hook_event_name: 'beforeTool',
        toolName: 'run_commands',
        toolCallId: 'call_1',
        conversationId: 'conv_1',
        input: { commands: ['ls'] },
      },
    ]);
    const changed = await cline(program('{"decision":"allow","input":{"commands":[]}}').command);
    expect(await changed['beforeTool']?.(clineCall)).toEqual({ input: { commands: [] } });
    const denied = program('{"decision":"deny","reason":"policy_denied: no"}');
    const denying = await cline(denied.command);
    expect(await denying['beforeTool']?.(clineCall)).toEqual({ skip: true, reason: 'policy_denied: no' });
    expect(
      await denying['afterTool']?.({ ...clineCall, result: { output: { error: 'policy_denied: no' }, isError: true } }),
    ).toBeUndefined();
    expect(denied.asked()).toHaveLength(1);
  });

  test.each(noAnswers)('%s is a denial', async (_, said, more) => {
    const hooks = await cline(program(said, more).command);
    expect(await hooks['beforeTool']?.(clineCall)).toEqual({ skip: true, reason: expect.stringMatching(/^outage: the program tollgate/) });
  });

  test('a program that does not answer before Cline ends the run is a denial too', async () => {
    expect(Number(/waitMs = (\d+)/.exec(pluginTexts.cline('x'))?.[1])).toBeLessThan(3_000);
    const late = await cline(program('', 'setInterval(() => undefined, 1000);').command, (text) =>
      text.replace('waitMs = 2500', 'waitMs = 1'),
    );
    expect(await late['beforeTool']?.(clineCall)).toEqual({ skip: true, reason: expect.stringContaining('did not answer within') });
  });

  test('an output is replaced, or withheld with the reason, also that of a failed call', async () => {
    const told = { ...clineCall, result: { output: ['secret'], isError: true } };
    const changed = await cline(program('{"decision":"pass","output":["[redacted]"]}').command);
    expect(await changed['afterTool']?.(told)).toEqual({ result: { output: ['[redacted]'], isError: true } });
    const gone = await cline('/nowhere/tollgate hook cline');
    expect(await gone['afterTool']?.(told)).toEqual({ result: { output: { error: expect.stringMatching(/^outage: /) }, isError: true } });
  });
});

test.each([
  ['opencode', '.config/opencode/plugins/tollgate.js'],
  ['cline', '.cline/plugins/tollgate.js'],
] as const)('the file of %s is completely ours, or is not changed', async (host, name) => {
  const home = folder();
  const hooks = (verb: string) =>
    run(['hooks', verb, host, '--json'], { env: { TOLLGATE_KEY: keyText('key1') }, home, cwd: home, self: '"/opt/a b/tollgate"' });
  const path = join(home, name);
  mkdirSync(dirname(path), { recursive: true });
  for (const theirs of ['export const mine = 1;\n', `${pluginMark}\nconst command = "rm -rf /";\n`]) {
    writeFileSync(path, theirs);
    expect(await hooks('install')).toMatchObject({ code: 1, err: expect.stringContaining('tollgate did not write this file') });
    expect(jsonOf(await hooks('uninstall'))).toMatchObject({ changed: false });
    expect(readFileSync(path, 'utf8')).toBe(theirs);
  }
  writeFileSync(path, '');
  expect(await hooks('install')).toMatchObject({ code: 0 });
  const text = readFileSync(path, 'utf8');
  expect(text).toBe(pluginTexts[host](commandIn(text) ?? ''));
  expect(commandIn(text)).toContain(`"/opt/a b/tollgate" hook ${host}`);
  writeFileSync(path, text.replace('waitMs = ', 'waitMs = 1'));
  expect(jsonOf(await hooks('install'))).toMatchObject({ changed: true });
  expect(readFileSync(path, 'utf8')).toBe(text);
});
