// What `guardTools` does with the tools of Mastra, besides the cells that all frameworks have.
import { Mastra } from '@mastra/core';
import { Agent } from '@mastra/core/agent';
import { createTool, noopObserve, Tool } from '@mastra/core/tools';
import { Observability, TestExporter } from '@mastra/observability';
import { expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { type Run, startRun } from '../../sidecar/doors/library/library.ts';
import { ToolDenied } from '../../sidecar/engine/govern/verdict.ts';
import { createTestSidecar, type TestSidecar } from '../support/governing.ts';
import { ruleFor } from '../support/snapshots.ts';
import { startModel } from './model.ts';

const start = async (rule: Parameters<typeof ruleFor>[1] = {}): Promise<{ sidecar: TestSidecar; run: Run }> => {
  const sidecar = await createTestSidecar({ world: { documents: [ruleFor('send', rule)], agents: [] } });
  return { sidecar, run: startRun(sidecar, { agent: 'assistant', tier: 'interactive' }) };
};
const address = 'bob@acme-mail.eu';
const context = { observe: noopObserve };
const inputSchema = z.object({ to: z.string() });
const sending = (sent: unknown[] = []) => ({
  send: createTool({
    id: 'send-mail',
    description: 'Sends mail.',
    inputSchema,
    requireApproval: true,
    execute: async (input) => {
      sent.push(input);
      return { to: input.to };
    },
  }),
});

test('the tools keep their types, their class and their other fields', async () => {
  const { run } = await start();
  const tools = sending();
  const guarded = run.guardTools(tools);
  expectTypeOf(guarded).toEqualTypeOf(tools);
  expect(new Agent({ id: 'assistant', name: 'assistant', instructions: 'Write.', model: 'openai/gpt-4o', tools: guarded }).id).toBe(
    'assistant',
  );
  expect(guarded.send).toBeInstanceOf(Tool);
  expect(guarded.send).toMatchObject({ id: 'send-mail', description: 'Sends mail.', requireApproval: true });
});

test('a tool that is called by the program is decided too, and throws its denial', async () => {
  const { run } = await start({ permission: 'deny' });
  const sent: unknown[] = [];
  const { send } = run.guardTools(sending(sent));
  await expect(send.execute?.({ to: 'bob' }, context)).rejects.toThrow(ToolDenied);
  expect(sent).toEqual([]);
});

test('the output schema holds for the output of the tool, which is redacted afterwards', async () => {
  const { run } = await start({ transform: 'redact' });
  const checked = createTool({
    id: 'send',
    description: 'Sends mail.',
    inputSchema,
    outputSchema: z.object({ cc: z.email() }),
    execute: async () => ({ cc: address }),
  });
  const { send } = run.guardTools({ send: checked });
  expect(await send.execute?.({ to: 'bob' }, context)).toEqual({ cc: '[redacted:email#1]' });
});

test('input that its schema refuses is decided, and the tool does not run', async () => {
  const { sidecar, run } = await start();
  const sent: unknown[] = [];
  const { send } = run.guardTools(sending(sent));
  expect(await send.execute?.({ to: 7 as unknown as string }, context)).toMatchObject({ error: true });
  expect(sent).toEqual([]);
  expect(await sidecar.entries()).toMatchObject([{ input: { to: 7 } }, {}]);
});

test('the traces of Mastra have each call, with its redacted output or its denial', async () => {
  const model = await startModel();
  const exporter = new TestExporter();
  for (const rule of [{ transform: 'redact' }, { permission: 'deny' }] as const) {
    const { run } = await start(rule);
    const send = createTool({ id: 'send', description: 'Sends mail.', inputSchema, execute: async () => ({ cc: address }) });
    const assistant = new Agent({
      id: 'assistant',
      name: 'assistant',
      instructions: 'Write.',
      model: { id: 'custom/gpt-4o', url: `${model.url}/v1`, apiKey: 'none' },
      tools: run.guardTools({ send }),
    });
    const observability = new Observability({ configs: { default: { serviceName: 'desk', exporters: [exporter] } } });
    const mastra = new Mastra({ agents: { assistant }, observability, logger: false });
    await model.answers([{ tool: 'send', input: { to: 'bob' } }], 'Done.');
    await mastra.getAgent('assistant').generate('Write.', { maxSteps: 5 });
    await mastra.shutdown();
  }
  model.close();
  const spans = exporter.getCompletedSpans();
  expect(spans.filter(({ type }) => type === 'tool_call')).toMatchObject([
    { name: "tool: 'send'", input: { to: 'bob' }, output: { cc: '[redacted:email#1]' }, attributes: { success: true } },
    { name: "tool: 'send'", input: { to: 'bob' }, errorInfo: { message: expect.stringContaining('policy_denied') } },
  ]);
  expect(spans.filter(({ type }) => type === 'agent_run')).toMatchObject([{ output: { text: 'Done.' } }, { output: { text: 'Done.' } }]);
});
