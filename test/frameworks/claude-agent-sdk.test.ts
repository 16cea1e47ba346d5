// What the hooks do in the Claude Agent SDK, besides the cells that all frameworks have.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Options, query } from '@anthropic-ai/claude-agent-sdk';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startRun } from '../../sidecar/doors/library/library.ts';
import { createTestSidecar } from '../support/governing.ts';
import { ruleFor } from '../support/snapshots.ts';
import { attributesOf, startTelemetryCollector } from '../support/telemetry-collector.ts';
import { claudeEnvironment } from './claude-agent-sdk.ts';
import { type Model, startModel } from './model.ts';

let model: Model;
const home = mkdtempSync(join(tmpdir(), 'tollgate-claude-'));
beforeAll(async () => {
  model = await startModel();
});
afterAll(() => {
  model.close();
  rmSync(home, { recursive: true, force: true });
});

async function perform(
  hooks: Options['hooks'],
  call: { tool: string; input: object },
  environment: Readonly<Record<string, string>> = {},
): Promise<readonly string[]> {
  await model.answers([call], 'Done.');
  const options: Options = {
    ...(hooks === undefined ? {} : { hooks }),
    model: 'claude-sonnet-4-5',
    cwd: home,
    settingSources: [],
    persistSession: false,
    tools: ['Read', 'Write'],
    permissionMode: 'acceptEdits',
    env: { ...claudeEnvironment(home, model.url), ...environment },
  };
  for await (const message of query({ prompt: 'Go.', options })) if (message.type === 'result') expect(message.subtype).toBe('success');
  return model.read();
}

const address = 'bob@acme-mail.eu';
const file = (name: string): string => join(home, name);

test("the SDK's own tools are redacted in and out", async () => {
  const sidecar = await createTestSidecar({
    world: { documents: [ruleFor('Write', { transform: 'redact' })], agents: [] },
  });
  const run = startRun(sidecar, { agent: 'assistant', tier: 'interactive' });
  await perform(run.claudeHooks(), { tool: 'Write', input: { file_path: file('note'), content: `to ${address}` } });
  expect(readFileSync(file('note'), 'utf8')).toBe('to [redacted:email#1]');
  const reading = await createTestSidecar({ world: { documents: [ruleFor('Read', { transform: 'redact' })], agents: [] } });
  writeFileSync(file('list'), `cc ${address}`);
  const hooks = startRun(reading, { agent: 'assistant', tier: 'interactive' }).claudeHooks();
  const [read] = await perform(hooks, { tool: 'Read', input: { file_path: file('list') } });
  expect(read).toContain('cc [redacted:email#1]');
  expect(read).not.toContain(address);
});

test.each(['full', 'bug'] as const)('where no call can be recorded, no call is made (%s)', async (fault) => {
  const sidecar = await createTestSidecar({ world: { agents: [] } });
  const hooks = startRun(sidecar, { agent: 'assistant', tier: 'interactive' }).claudeHooks();
  sidecar.spoolFault = fault;
  const [read] = await perform(hooks, { tool: 'Write', input: { file_path: file(fault), content: 'x' } });
  expect(read).toMatch(/was not (?:permitted|made)/);
  expect(() => readFileSync(file(fault))).toThrow('ENOENT');
});

test('if a hook fails in a way that it does not expect, the SDK blocks the call', async () => {
  const sidecar = await createTestSidecar({ world: { agents: [] } });
  const { PreToolUse, ...others } = startRun(sidecar, { agent: 'assistant', tier: 'interactive' }).claudeHooks();
  const broken = PreToolUse.map((matcher) => ({ ...matcher, hooks: [() => Promise.reject(new Error('broken'))] }));
  await perform({ ...others, PreToolUse: broken }, { tool: 'Write', input: { file_path: file('broken'), content: 'x' } });
  expect(() => readFileSync(file('broken'))).toThrow('ENOENT');
});

test('the telemetry of Claude Code has each call and its denial', async () => {
  const collector = await startTelemetryCollector();
  const sidecar = await createTestSidecar({ world: { documents: [ruleFor('Write', { permission: 'deny' })], agents: [] } });
  writeFileSync(file('seen'), 'x');
  const telemetry = {
    CLAUDE_CODE_ENABLE_TELEMETRY: '1',
    OTEL_LOGS_EXPORTER: 'otlp',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_LOGS_EXPORT_INTERVAL: '100',
  };
  const hooks = startRun(sidecar, { agent: 'assistant', tier: 'interactive' }).claudeHooks();
  await perform(hooks, { tool: 'Write', input: { file_path: file('unseen'), content: 'x' } }, telemetry);
  await perform(hooks, { tool: 'Read', input: { file_path: file('seen') } }, telemetry);
  const events = () => collector.records().map(attributesOf);
  const ofTools = () => events().filter(({ tool_name: name }) => name !== undefined);
  await collector.until(() => ofTools().length >= 3);
  expect(ofTools()).toMatchObject([
    { 'event.name': 'tool_decision', tool_name: 'Write', decision: 'reject', source: 'hook' },
    { 'event.name': 'tool_decision', tool_name: 'Read', decision: 'accept' },
    { 'event.name': 'tool_result', tool_name: 'Read', success: 'true' },
  ]);
  expect(events().filter(({ 'event.name': name }) => name === 'assistant_response')).toHaveLength(2);
  await collector.close();
});
