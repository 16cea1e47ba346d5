// `guardTools` of AI SDK tool sets, called through the SDK itself: what the model receives, what the tool got, what was
// recorded.
import { generateText, jsonSchema, stepCountIs, streamText, type Tool, type ToolSet, tool } from 'ai';
import { MockLanguageModelV3, simulateReadableStream } from 'ai/test';
import { expect, expectTypeOf, test } from 'vitest';
import { type Run, startRun } from '../../../../sidecar/doors/library/library.ts';
import { ToolDenied } from '../../../../sidecar/engine/govern/verdict.ts';
import { createTestSidecar, type TestSidecar } from '../../../support/governing.ts';
import { agent, ruleFor } from '../../../support/snapshots.ts';

const run = (sidecar: TestSidecar): Run => startRun(sidecar, { agent: 'assistant', tier: 'interactive' });
const mail = 'bob@acme-mail.eu';
const inputSchema = jsonSchema<{ to: string }>({ type: 'object', properties: { to: { type: 'string' } }, required: ['to'] });
const options = { toolCallId: 'c1', messages: [] };

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** Calls the tool `send` once and ends. */
const callsSend = (input: object): MockLanguageModelV3 => {
  const call = { type: 'tool-call' as const, toolCallId: 'c1', toolName: 'send', input: JSON.stringify(input) };
  const calls = { unified: 'tool-calls' as const, raw: undefined };
  return new MockLanguageModelV3({
    doGenerate: async ({ prompt }) =>
      prompt.some(({ role }) => role === 'tool')
        ? { content: [{ type: 'text', text: 'done' }], finishReason: { unified: 'stop', raw: undefined }, usage, warnings: [] }
        : { content: [call], finishReason: calls, usage, warnings: [] },
    doStream: async () => ({
      stream: simulateReadableStream({
        chunks: [{ type: 'stream-start' as const, warnings: [] }, call, { type: 'finish' as const, finishReason: calls, usage }],
      }),
    }),
  });
};

/** Returns what the model receives about the call of `send`. */
async function toldBy(tools: ToolSet, input: object): Promise<unknown> {
  const model = callsSend(input);
  await generateText({ model, prompt: 'send it', tools, stopWhen: stepCountIs(2) });
  const { content } = model.doGenerateCalls[1]?.prompt.find(({ role }) => role === 'tool') ?? {};
  return Array.isArray(content) ? content.map((part) => ('output' in part ? part.output : part)) : content;
}

const sending = (got: unknown[] = []) => ({
  send: tool({
    description: 'Sends mail.',
    inputSchema,
    execute: async (input: { to: string }) => {
      got.push(input);
      return { sent: input.to };
    },
  }),
});

test('a permitted call answers the model as before, and the set keeps its type', async () => {
  const sidecar = await createTestSidecar({ world: { agents: [] } });
  const tools = sending();
  const guarded = run(sidecar).guardTools(tools);
  expectTypeOf(guarded).toEqualTypeOf(tools);
  expect(guarded.send).toMatchObject({ description: 'Sends mail.', inputSchema });
  expect(await toldBy(guarded, { to: 'bob' })).toEqual([{ type: 'json', value: { sent: 'bob' } }]);
  expect(await sidecar.entries()).toMatchObject([
    { hookEvent: 'PreToolUse', tool: 'send', input: { to: 'bob' } },
    { hookEvent: 'PostToolUse', outcome: { isError: false, action: 'pass' } },
  ]);
});

test('with a server its tools are named after it', async () => {
  const sidecar = await createTestSidecar({ world: { documents: [ruleFor('mail.send', { permission: 'deny' })], agents: [] } });
  const guarded = run(sidecar).guardTools(sending(), { server: 'mail' });
  await toldBy(guarded, { to: 'bob' });
  expect(await sidecar.entries()).toMatchObject([{ tool: 'mail.send', code: 'policy_denied' }]);
});

test('a denied call reaches no tool, and the model gets a reason that it can act on', async () => {
  const sidecar = await createTestSidecar({ world: { documents: [ruleFor('send', { permission: 'deny' })], agents: [] } });
  const got: unknown[] = [];
  expect(await toldBy(run(sidecar).guardTools(sending(got)), { to: 'bob' })).toEqual([
    {
      type: 'error-text',
      value: expect.stringMatching(/^The call of "send" was not permitted: policy_denied: .* Trying again will not help/),
    },
  ]);
  expect(got).toEqual([]);
  const denied = await Promise.resolve(run(sidecar).guardTools(sending()).send.execute?.({ to: 'bob' }, options)).catch(
    (error: unknown) => error,
  );
  expect(denied instanceof ToolDenied && denied.denial.code).toBe('policy_denied');
});

const redacting = { documents: [ruleFor('send', { transform: 'redact' })], agents: [] };

test('redaction changes what the tool gets and what the model receives, errors too', async () => {
  const sidecar = await createTestSidecar({ world: redacting });
  const got: unknown[] = [];
  expect(await toldBy(run(sidecar).guardTools(sending(got)), { to: mail })).toEqual([
    { type: 'json', value: { sent: '[redacted:email#1]' } },
  ]);
  expect(got).toEqual([{ to: '[redacted:email#1]' }]);
  const failing = {
    send: tool({
      inputSchema,
      execute: (): Promise<string> => {
        throw new Error(`no such user: ${mail}`);
      },
    }),
  };
  expect(await toldBy(run(sidecar).guardTools(failing), { to: 'bob' })).toEqual([
    { type: 'error-text', value: 'no such user: [redacted:email#1]' },
  ]);
  expect((await sidecar.entries()).at(-1)).toMatchObject({ outcome: { isError: true, action: 'redact' } });
});

const stepping = (values: readonly string[], execute: 'generator' | 'function' = 'generator') => {
  const generator = async function* (): AsyncGenerator<string> {
    yield* values;
  };
  return { send: tool({ inputSchema, execute: execute === 'generator' ? generator : () => generator() }) };
};

/** What a stream of the SDK shows of the call: the intermediate values, then the last one. */
async function shownBy(tools: ToolSet): Promise<readonly unknown[]> {
  const shown: unknown[] = [];
  for await (const part of streamText({ model: callsSend({ to: 'bob' }), prompt: 'send it', tools }).fullStream) {
    if (part.type === 'tool-result') shown.push(part.preliminary === true ? ['on the way', part.output] : part.output);
    if (part.type === 'tool-error') shown.push(part.error);
  }
  return shown;
}

test.each(['generator', 'function'] as const)(
  'a tool that answers in steps (%s) is shown step by step, and recorded once',
  async (execute) => {
    const sidecar = await createTestSidecar({ world: { agents: [] } });
    expect(await shownBy(run(sidecar).guardTools(stepping(['50 %', 'sent'], execute)))).toEqual([
      ['on the way', '50 %'],
      ['on the way', 'sent'],
      'sent',
    ]);
    expect(await sidecar.entries()).toMatchObject([
      { hookEvent: 'PreToolUse', decision: 'allow' },
      { hookEvent: 'PostToolUse', outcome: { isError: false, action: 'pass' } },
    ]);
  },
);

test('where policy redacts, no step shows a secret, and the end shows only the redacted result', async () => {
  const sidecar = await createTestSidecar({ world: redacting });
  const shown = await shownBy(run(sidecar).guardTools(stepping(['to bob', 'to bob@acme', `to ${mail}`])));
  expect(shown).toEqual([['on the way', 'to [redacted:email#1]'], 'to [redacted:email#1]']);
  expect((await sidecar.entries()).at(-1)).toMatchObject({ findings: [{ kind: 'email', count: 1 }], outcome: { action: 'redact' } });
});

test('a denied tool that answers in steps is never started', async () => {
  const sidecar = await createTestSidecar({ world: { documents: [ruleFor('send', { permission: 'deny' })], agents: [] } });
  for (const execute of ['generator', 'function'] as const)
    expect(await shownBy(run(sidecar).guardTools(stepping(['sent'], execute)))).toEqual([expect.any(ToolDenied)]);
  expect((await sidecar.entries()).map(({ hookEvent }) => hookEvent)).toEqual(['PreToolUse', 'PreToolUse']);
});

test('steps that fail are recorded as an error, and so are steps that are not read to their end', async () => {
  const sidecar = await createTestSidecar({ world: redacting });
  const breaking = {
    send: tool({
      inputSchema,
      execute: async function* (): AsyncGenerator<string> {
        yield 'begun';
        throw new Error(`lost ${mail}`);
      },
    }),
  };
  expect(await shownBy(run(sidecar).guardTools(breaking))).toEqual([expect.objectContaining({ message: 'lost [redacted:email#1]' })]);

  const plain = await createTestSidecar({ world: { agents: [] } });
  const steps = run(plain)
    .guardTools(stepping(['1', '2', '3']))
    .send.execute?.({ to: 'bob' }, options) as AsyncIterable<string>;
  for await (const _ of steps) break;
  for (const one of [sidecar, plain])
    expect((await one.entries()).map(({ hookEvent, outcome }) => [hookEvent, outcome?.isError])).toEqual([
      ['PreToolUse', undefined],
      ['PostToolUse', true],
    ]);
});

test('with durability disk the same tools answer the same; the steps of a plain function are reduced to the last', async () => {
  const sidecar = await createTestSidecar({ world: { agents: [] }, durability: 'disk' });
  const own = run(sidecar);
  expect(await toldBy(own.guardTools(sending()), { to: 'bob' })).toEqual([{ type: 'json', value: { sent: 'bob' } }]);
  expect(await shownBy(own.guardTools(stepping(['50 %', 'sent'])))).toEqual([['on the way', '50 %'], ['on the way', 'sent'], 'sent']);
  expect(await shownBy(own.guardTools(stepping(['50 %', 'sent'], 'function')))).toEqual(['sent']);
});

test('where the outcome cannot be recorded, the model gets none of it', async () => {
  const sidecar = await createTestSidecar({ world: { agents: [] } });
  const tools = {
    send: tool({
      inputSchema,
      execute: async function* (): AsyncGenerator<string> {
        sidecar.spoolFault = 'full';
        yield 'sent';
      },
    }),
  };
  expect((await shownBy(run(sidecar).guardTools(tools))).at(-1)).toBeInstanceOf(ToolDenied);
});

const browserSide: Tool = tool({ inputSchema, outputSchema: jsonSchema<string>({ type: 'string' }) });
const providers = { type: 'provider', id: 'acme.search', args: {}, inputSchema } as const;

test('a tool that is executed elsewhere is rejected by name, unless it is named as ungoverned', async () => {
  const own = run(await createTestSidecar({ world: { agents: [] } }));
  const tools = { ...sending(), ask: browserSide, search: providers };
  expect(() => own.guardTools(tools)).toThrow(
    'guardTools: the tool "ask" cannot be governed here, because it has no execute; leave it out, or name it in ungoverned; ' +
      'the tool "search" cannot be governed here, because the model\'s provider executes it; leave it out, or name it in ungoverned',
  );
  const guarded = own.guardTools(tools, { ungoverned: ['ask', 'search'] });
  expect([guarded.ask, guarded.search]).toEqual([browserSide, providers]);
  expect(guarded.send.execute).not.toBe(tools.send.execute);
  expect(() => own.guardTools(tools, { ungoverned: ['ask', 'search', 'send'] })).toThrow('ungoverned names "send", which has an execute');
  expect(() => own.guardTools(sending(), { ungoverned: ['asc'] })).toThrow('ungoverned names "asc", which is no tool of the set');
});

const invoked = { type: 'function', name: 'send', parameters: {}, invoke: async () => 'sent' } as const;

test.each<[string, unknown, string]>([
  ['a function', { send: () => 'sent' }, 'the tool "send" is not recognised: it is no object'],
  [
    'a method of another name',
    { send: { description: 'Sends mail.', call: () => 'sent' } },
    'it has neither an execute nor an inputSchema',
  ],
  ['an execute that is no function', { send: { inputSchema, execute: 'send' } }, 'it has neither an execute nor an inputSchema'],
  ['a tool with invoke by name', { send: invoked }, 'it has invoke, and such tools are given as a list'],
  ['a tool with execute in a list', [sending().send], 'it has execute, and such tools are given by name'],
  [
    'a tool with invoke of no known framework',
    [{ name: 'send', invoke: () => 'sent' }],
    'the tool "send" is not recognised: it is neither',
  ],
  ['nothing in a list', [null], 'the tool "null" is not recognised'],
  ['a local tool of a provider', [{ type: 'shell', name: 'shell', shell: { run: () => 'ran' } }], 'the tool "shell" is not recognised'],
  ['an instance of a class', new Map(), 'takes a list of tools, an object with a tool for each name, or an MCP client'],
  ['nothing', null, 'takes a list of tools'],
])('a form that is not recognised is a TypeError: %s', async (_what, tools, why) => {
  const own = run(await createTestSidecar({ world: { agents: [] } }));
  const guarding = (): unknown => own.guardTools(tools as ToolSet);
  expect(guarding).toThrow(TypeError);
  expect(guarding).toThrow(why);
  // Also where it is named as ungoverned.
  expect(() => own.guardTools(tools as ToolSet, { ungoverned: ['send', 'shell', 'null'] })).toThrow(/./);
});

test('in a list, a tool that the provider executes is rejected by name, unless it is named as ungoverned', async () => {
  const own = run(await createTestSidecar({ world: { agents: [] } }));
  const search = { type: 'hosted_tool', name: 'web_search', providerData: {} };
  expect(() => own.guardTools([invoked, search])).toThrow('the tool "web_search" cannot be governed here, because the model\'s provider');
  const [send, same] = own.guardTools([invoked, search], { ungoverned: ['web_search'] });
  expect(same).toBe(search);
  expect(send).not.toBe(invoked);
  expect(() => own.guardTools([invoked], { ungoverned: ['send'] })).toThrow('ungoverned names "send", which has an invoke');
  expect(() => own.guardTools([invoked], { onDenied: 'crash' as 'throw' })).toThrow('onDenied must be "tell" or "throw"');
});

test("needsApproval is the SDK's own, and toModelOutput reads the redacted output", async () => {
  const sidecar = await createTestSidecar({ world: redacting });
  const needsApproval = (): boolean => false;
  const tools = {
    send: tool({
      inputSchema,
      needsApproval,
      execute: async ({ to }: { to: string }) => ({ to, cc: mail }),
      toModelOutput: ({ output }) => ({ type: 'text', value: `${output.to} and ${output.cc}` }),
    }),
  };
  const guarded = run(sidecar).guardTools(tools);
  expect(guarded.send.needsApproval).toBe(needsApproval);
  expect(await toldBy(guarded, { to: 'bob' })).toEqual([{ type: 'text', value: 'bob and [redacted:email#1]' }]);
});

test('a call that is aborted is not decided as permitted', async () => {
  const sidecar = await createTestSidecar({ world: { agents: [] } });
  const got: unknown[] = [];
  const { send } = run(sidecar).guardTools(sending(got));
  const calling = Promise.resolve(send.execute?.({ to: 'bob' }, { ...options, abortSignal: AbortSignal.abort() }));
  await expect(calling).rejects.toThrow('caller_gone');
  expect(got).toEqual([]);
});

test('a tool that is an instance of a class is called with itself as `this`', async () => {
  class Mailer {
    readonly description = 'Sends mail.';
    readonly inputSchema = inputSchema;
    readonly #sent: string[] = [];
    async execute({ to }: { to: string }) {
      this.#sent.push(to);
      return this.#sent.length;
    }
  }
  const own = run(await createTestSidecar({ world: { agents: [] } }));
  const { send } = own.guardTools({ send: new Mailer() });
  expect([await send.execute({ to: 'bob' }), await send.execute({ to: 'eve' })]).toEqual([1, 2]);
});

test('names that are special elsewhere are ordinary tools', async () => {
  const sidecar = await createTestSidecar({ world: { agents: [agent({ enabledTools: ['*'] })] } });
  const tools = { constructor: sending().send, ['__proto__']: sending().send };
  const guarded = run(sidecar).guardTools(tools);
  expect(Object.getOwnPropertyNames(guarded)).toEqual(['constructor', '__proto__']);
  await guarded['__proto__']?.execute?.({ to: 'bob' }, options);
  expect(await sidecar.entries()).toMatchObject([{ tool: '__proto__' }, {}]);
});
