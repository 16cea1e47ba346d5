// What `guardTools` does with the tools of LangChain.js, besides the cells that all frameworks have.
import { BaseCallbackHandler } from '@langchain/core/callbacks/base';
import { AIMessage, ToolMessage } from '@langchain/core/messages';
import { DynamicTool, StructuredTool, tool } from '@langchain/core/tools';
import { Command, GraphInterrupt } from '@langchain/langgraph';
import { ToolNode } from '@langchain/langgraph/prebuilt';
import { createAgent } from 'langchain';
import { expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { type Run, startRun } from '../../sidecar/doors/library/library.ts';
import { ToolDenied } from '../../sidecar/engine/govern/verdict.ts';
import { createTestSidecar, type TestSidecar } from '../support/governing.ts';
import { ruleFor } from '../support/snapshots.ts';

const start = async (rule: Parameters<typeof ruleFor>[1] = {}): Promise<{ sidecar: TestSidecar; run: Run }> => {
  const sidecar = await createTestSidecar({ world: { documents: [ruleFor('send', rule)], agents: [] } });
  return { sidecar, run: startRun(sidecar, { agent: 'assistant', tier: 'interactive' }) };
};
const fields = { name: 'send', description: 'Sends mail.', schema: z.object({ to: z.string() }) };
const address = 'bob@acme-mail.eu';
const call = (to = 'bob') => ({ name: 'send', args: { to }, id: 'c1', type: 'tool_call' as const });

const sending = (sent: unknown[] = []) =>
  tool((input) => {
    sent.push(input);
    return `sent to ${input.to}`;
  }, fields);

const denied = /^The call of "send" was not permitted: policy_denied/;

test('the tools keep their types, their class and their other fields', async () => {
  const { run } = await start();
  const tools = [sending()];
  const guarded = run.guardTools(tools);
  expectTypeOf(guarded).toEqualTypeOf(tools);
  createAgent({ model: 'openai:gpt-4o', tools: guarded });
  expect(guarded[0]).toBeInstanceOf(StructuredTool);
  expect(guarded[0]).toMatchObject(fields);
});

test('each way to call the tool is decided once', async () => {
  const { sidecar, run } = await start();
  const [send] = run.guardTools([sending()]);
  const input = { to: 'bob' };
  const ways = [send?.invoke(input), send?.call(input), send?.func(input, undefined), send?.batch([input]), send?.invoke(call())];
  expect(await Promise.all(ways)).toMatchObject(['sent to bob', 'sent to bob', 'sent to bob', ['sent to bob'], { content: 'sent to bob' }]);
  for await (const part of (await send?.stream(input)) ?? []) expect(part).toBe('sent to bob');
  expect((await sidecar.entries()).filter(({ hookEvent }) => hookEvent === 'PreToolUse')).toHaveLength(6);

  const refusing = await start({ permission: 'deny' });
  const sent: unknown[] = [];
  const [never] = refusing.run.guardTools([sending(sent)]);
  for (const way of [never?.invoke(input), never?.call(input), never?.func(input, undefined)]) expect(await way).toMatch(denied);
  expect(sent).toEqual([]);
});

test('a ToolNode gives the denial to the model, and throws it if asked', async () => {
  const { run } = await start({ permission: 'deny' });
  const state = { messages: [new AIMessage({ content: '', tool_calls: [call()] })] };
  const { messages } = await new ToolNode(run.guardTools([sending()])).invoke(state);
  expect(messages).toMatchObject([{ content: expect.stringMatching(denied), tool_call_id: 'c1' }]);
  const throwing = new ToolNode(run.guardTools([sending()], { onDenied: 'throw' }), { handleToolErrors: false });
  await expect(throwing.invoke(state)).rejects.toThrow(ToolDenied);
});

test("LangChain's callbacks hear of the call and of its denial, as of any call", async () => {
  const heard: unknown[] = [];
  class Tracer extends BaseCallbackHandler {
    override readonly name = 'tracer';
    override handleToolStart(_tool: unknown, input: string): void {
      heard.push(['start', input]);
    }
    override handleToolEnd(output: ToolMessage): void {
      heard.push(['end', output.content]);
    }
    override handleToolError(error: Error): void {
      heard.push(['error', error.message]);
    }
  }
  const callbacks = [new Tracer()];
  for (const rule of [{ transform: 'redact' }, { permission: 'deny' }] as const) {
    const [send] = (await start(rule)).run.guardTools([sending()]);
    await send?.invoke(call(), { callbacks });
  }
  const failing = tool((): string => {
    throw new Error(`no such user: ${address}`);
  }, fields);
  const [fail] = (await start({ transform: 'redact' })).run.guardTools([failing]);
  await expect(fail?.invoke(call(), { callbacks })).rejects.toThrow('no such user: [redacted:email#1]');
  expect(heard).toEqual([
    ['start', '{"to":"bob"}'],
    ['end', 'sent to bob'],
    ['start', '{"to":"bob"}'],
    ['end', expect.stringMatching(denied)],
    ['start', '{"to":"bob"}'],
    ['error', 'no such user: [redacted:email#1]'],
  ]);
});

test('content and artifact are redacted, and a denial has no artifact', async () => {
  const pair = tool((): [string, object] => [`to ${address}`, { cc: address }], { ...fields, responseFormat: 'content_and_artifact' });
  const [redacted] = (await start({ transform: 'redact' })).run.guardTools([pair]);
  expect(await redacted?.invoke(call())).toMatchObject({ content: 'to [redacted:email#1]', artifact: { cc: '[redacted:email#1]' } });
  const [refused] = (await start({ permission: 'deny' })).run.guardTools([pair]);
  expect(await refused?.invoke(call())).toMatchObject({ content: expect.stringMatching(denied), artifact: undefined });
});

test('a message that the tool makes itself is redacted, and remains a message', async () => {
  const own = tool(() => new ToolMessage({ content: `to ${address}`, artifact: [address], tool_call_id: 'c1', name: 'send' }), fields);
  const [redacted] = (await start({ transform: 'redact' })).run.guardTools([own]);
  const message = await redacted?.invoke(call());
  expect(message).toBeInstanceOf(ToolMessage);
  expect(message).toMatchObject({ content: 'to [redacted:email#1]', artifact: ['[redacted:email#1]'], tool_call_id: 'c1', name: 'send' });
  expect(JSON.stringify(message)).not.toContain(address);
  const plain = await start();
  const kept = new ToolMessage({ content: `to ${address}`, tool_call_id: 'c1' });
  const [unchanged] = plain.run.guardTools([tool(() => kept, fields)]);
  expect(await unchanged?.invoke(call())).toBe(kept);
});

test('a command passes where policy does not redact', async () => {
  const command = new Command({ update: { messages: [] } });
  const [send] = (await start()).run.guardTools([tool(() => command, fields)]);
  expect(await send?.invoke(call())).toBe(command);
  const [redacted] = (await start({ transform: 'redact' })).run.guardTools([tool(() => new Command({ update: { cc: address } }), fields)]);
  expect(JSON.stringify(await redacted?.invoke(call()))).not.toContain(address);
});

test('an interrupt of the graph passes, also where policy redacts', async () => {
  const interrupt = new GraphInterrupt([{ id: 'i1', value: 'ask' }]);
  const asking = tool((): string => {
    throw interrupt;
  }, fields);
  const { sidecar, run } = await start({ transform: 'redact' });
  const [send] = run.guardTools([asking]);
  await expect(send?.invoke(call())).rejects.toBe(interrupt);
  expect(await sidecar.entries()).toMatchObject([{}, { outcome: { isError: false } }]);
});

test('a tool that reports progress reports it, or only its redacted output', async () => {
  const progress: unknown[] = [];
  class Events extends BaseCallbackHandler {
    override readonly name = 'events';
    override handleToolEvent(chunk: unknown): void {
      progress.push(chunk);
    }
  }
  const stepping = tool(async function* (): AsyncGenerator<string, string> {
    yield '50 %';
    return `sent to ${address}`;
  }, fields);
  const told = async (rule: Parameters<typeof ruleFor>[1]): Promise<unknown> => {
    const { sidecar, run } = await start(rule);
    const [send] = run.guardTools([stepping]);
    const message = await send?.invoke(call(), { callbacks: [new Events()] });
    expect((await sidecar.entries()).filter(({ hookEvent }) => hookEvent === 'PostToolUse')).toHaveLength(
      rule.permission === 'deny' ? 0 : 1,
    );
    return (message as unknown as ToolMessage).content;
  };
  expect([await told({}), progress]).toEqual([`sent to ${address}`, ['50 %']]);
  expect([await told({ transform: 'redact' }), progress]).toEqual(['sent to [redacted:email#1]', ['50 %']]);
  expect([await told({ permission: 'deny' }), progress]).toEqual([expect.stringMatching(denied), ['50 %']]);
});

test('a tool with a text as input, and a class of one’s own', async () => {
  const { sidecar, run } = await start({ transform: 'redact' });
  const texts: string[] = [];
  class Mailer extends StructuredTool {
    override readonly name = 'send';
    override readonly description = 'Sends mail.';
    override readonly schema = z.object({ to: z.string() });
    readonly #sent: string[] = [];
    protected override async _call({ to }: { to: string }): Promise<string> {
      this.#sent.push(to);
      return this.#sent.join();
    }
  }
  const [text, mailer] = run.guardTools([
    new DynamicTool({ name: 'send', description: 'Sends mail.', func: async (to) => String(texts.push(to)) }),
    new Mailer(),
  ]);
  await text?.invoke(address);
  expect(texts).toEqual(['[redacted:email#1]']);
  expect(await mailer?.invoke({ to: address })).toBe('[redacted:email#1]');
  expect(await sidecar.entries()).toHaveLength(4);
});

test('a subclass that does its work in invoke is refused, and so is a runnable', async () => {
  const { run } = await start();
  class Around extends DynamicTool {
    override async invoke(): Promise<never> {
      throw new Error('it would have run');
    }
  }
  const around = new Around({ name: 'send', description: 'Sends mail.', func: async () => 'sent' });
  for (const one of [around, { name: 'send', invoke: async () => 'sent', lc_runnable: true }])
    expect(() => run.guardTools([one])).toThrow(TypeError);
});
