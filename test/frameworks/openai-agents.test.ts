// What `guardTools` does with the tools of the OpenAI Agents SDK, besides the cells that all frameworks have.
import {
  Agent,
  type FunctionTool,
  OpenAIProvider,
  RunContext,
  Runner,
  type Span,
  setTraceProcessors,
  setTracingDisabled,
  tool,
  webSearchTool,
} from '@openai/agents';
import { afterAll, beforeAll, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { type Run, startRun } from '../../sidecar/doors/library/library.ts';
import { ToolDenied } from '../../sidecar/engine/govern/verdict.ts';
import { createTestSidecar, type TestSidecar } from '../support/governing.ts';
import { ruleFor } from '../support/snapshots.ts';
import { type Model, startModel } from './model.ts';

let model: Model;
beforeAll(async () => {
  model = await startModel();
});
afterAll(() => model.close());

const start = async (rule: Parameters<typeof ruleFor>[1] = {}): Promise<{ sidecar: TestSidecar; run: Run }> => {
  const sidecar = await createTestSidecar({ world: { documents: [ruleFor('send', rule)], agents: [] } });
  return { sidecar, run: startRun(sidecar, { agent: 'assistant', tier: 'interactive' }) };
};
const parameters = z.object({ to: z.string() });
const address = 'bob@acme-mail.eu';
const runnerOf = (options: object = {}): Runner =>
  new Runner({ modelProvider: new OpenAIProvider({ apiKey: 'none', baseURL: `${model.url}/v1` }), ...options });

const sending = (sent: unknown[] = []) =>
  tool({
    name: 'send',
    description: 'Sends mail.',
    parameters,
    execute: (input) => {
      sent.push(input);
      return `sent to ${input.to}`;
    },
  });

test('the tools keep their types and their other fields', async () => {
  const { run } = await start();
  const tools = [sending()];
  const guarded = run.guardTools(tools);
  expectTypeOf(guarded).toEqualTypeOf(tools);
  expect(new Agent({ name: 'assistant', tools: guarded }).tools).toBe(guarded);
  expect(guarded[0]).toEqual({ ...tools[0], invoke: expect.any(Function) });
});

test('the trace of the SDK shows the call, redacted, and its denial', async () => {
  const spans: Span<never>[] = [];
  setTracingDisabled(false);
  setTraceProcessors([
    {
      onSpanEnd: async (span) => void spans.push(span as Span<never>),
      onSpanStart: async () => undefined,
      onTraceStart: async () => undefined,
      onTraceEnd: async () => undefined,
      forceFlush: async () => undefined,
      shutdown: async () => undefined,
    },
  ]);
  for (const rule of [{ transform: 'redact' }, { permission: 'deny' }] as const) {
    const { run } = await start(rule);
    await model.answers([{ tool: 'send', input: { to: address } }], 'Done.');
    await runnerOf().run(new Agent({ name: 'assistant', model: 'gpt-5', tools: run.guardTools([sending()]) }), 'Write.');
  }
  const calls = spans.map(({ spanData }) => spanData as { type: string; output?: string }).filter(({ type }) => type === 'function');
  expect(calls).toMatchObject([{ output: 'sent to [redacted:email#1]' }, { output: expect.stringContaining('policy_denied') }]);
});

test('an approval of the SDK is asked for first, and then policy decides', async () => {
  const { sidecar, run } = await start({ permission: 'deny' });
  const sent: unknown[] = [];
  const approved = { ...sending(sent), needsApproval: async () => true };
  await model.answers([{ tool: 'send', input: { to: 'bob' } }], 'I could not.');
  const runner = runnerOf({ tracingDisabled: true });
  const agent = new Agent({ name: 'assistant', model: 'gpt-5', tools: run.guardTools([approved]) });
  const paused = await runner.run(agent, 'Write.');
  expect(paused.interruptions).toHaveLength(1);
  expect(await sidecar.entries()).toEqual([]);
  for (const one of paused.interruptions) paused.state.approve(one);
  expect((await runner.run(agent, paused.state)).finalOutput).toBe('I could not.');
  expect(await model.read()).toEqual([expect.stringContaining('policy_denied')]);
  expect(await sidecar.entries()).toMatchObject([{ code: 'policy_denied', input: { to: 'bob' } }]);
  expect(sent).toEqual([]);
});

const calling = (one: FunctionTool<unknown, never, unknown>, input: string): Promise<unknown> => one.invoke(new RunContext(), input);
const guardedFor = (run: Run, one: object): FunctionTool<unknown, never, unknown> =>
  run.guardTools([one])[0] as FunctionTool<unknown, never, unknown>;

test('a tool with an output schema is denied and redacted as others are', async () => {
  const schema = { parameters, outputSchema: z.object({ cc: z.email() }), name: 'send', description: 'Sends mail.' };
  const checked = tool({ ...schema, execute: async () => ({ cc: address }) });
  for (const [rule, read] of [
    [{ permission: 'deny' }, /policy_denied/],
    [{ transform: 'redact' }, /\[redacted:email#1\]/],
  ] as const) {
    const { run } = await start(rule);
    await model.answers([{ tool: 'send', input: { to: 'bob' } }], 'Done.');
    await runnerOf({ tracingDisabled: true }).run(
      new Agent({ name: 'assistant', model: 'gpt-5', tools: run.guardTools([checked]) }),
      'Write.',
    );
    expect(await model.read()).toEqual([expect.stringMatching(read)]);
  }
});

test('a tool that throws to its agent throws the redacted message', async () => {
  const { run } = await start({ transform: 'redact' });
  const failing = tool({
    name: 'send',
    description: 'Sends mail.',
    parameters,
    errorFunction: null,
    execute: (): string => {
      throw new Error(`no such user: ${address}`);
    },
  });
  await expect(calling(guardedFor(run, failing), '{"to":"bob"}')).rejects.toThrow('no such user: [redacted:email#1]');
});

test('arguments that are no JSON are decided as text, and the tool refuses them', async () => {
  const { sidecar, run } = await start();
  const sent: unknown[] = [];
  expect(await calling(guardedFor(run, sending(sent)), '{"to":')).toContain('An error occurred');
  expect(sent).toEqual([]);
  expect(await sidecar.entries()).toMatchObject([{ input: '{"to":' }, {}]);
});

test('the tool receives what was decided, not the text of the model', async () => {
  const { run } = await start();
  const texts: string[] = [];
  const raw = { ...sending(), invoke: async (_context: unknown, input: string) => texts.push(input) };
  await calling(guardedFor(run, raw), '{ "to": "eve", "to": "bob" }');
  expect(texts).toEqual(['{"to":"bob"}']);
});

test('thrown if asked, and a tool of the provider is refused', async () => {
  const { run } = await start({ permission: 'deny' });
  const [send] = run.guardTools([sending()], { onDenied: 'throw' });
  await expect(send?.invoke(new RunContext(), '{"to":"bob"}')).rejects.toThrow(ToolDenied);
  expect(() => run.guardTools([webSearchTool()])).toThrow('the tool "web_search" cannot be governed here, because the model\'s provider');
});
