// Providers over HTTP, against a fake OpenAI and a fake Anthropic: what is sent, what comes back, and what is retried.
import { LLMock } from '@copilotkit/aimock';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { shownArguments } from '../../../control-plane/runs/tools/call-arguments.ts';
import type { ModelMessage, ModelRequest } from '../../../control-plane/runs/model.ts';
import { ProviderFailed } from '../../../control-plane/runs/model.ts';
import { createProviders, type Providers } from '../../../control-plane/runs/models/providers.ts';
import type { ProviderSettings } from '../../../control-plane/runs/models/settings.ts';
import { createWaiting, hear, requestOf, weatherTool } from '../../support/model-requests.ts';

const key = 'sk-secret-key-of-the-operator';
const none: ProviderSettings = { openai: null, anthropic: null, endpoints: [] };

interface Case {
  readonly provider: string;
  readonly model: string;
  readonly settings: (url: string) => ProviderSettings;
}

const cases: Readonly<Record<string, Case>> = {
  'OpenAI by Chat Completions': {
    provider: 'openai',
    model: 'gpt-5-mini',
    settings: (url) => ({ ...none, openai: { key, baseUrl: `${url}/v1`, api: 'chat' } }),
  },
  'OpenAI by Responses': {
    provider: 'openai',
    model: 'gpt-5-mini',
    settings: (url) => ({ ...none, openai: { key, baseUrl: `${url}/v1`, api: 'responses' } }),
  },
  Anthropic: {
    provider: 'anthropic',
    model: 'claude-haiku-4-5',
    settings: (url) => ({ ...none, anthropic: { key, baseUrl: `${url}/v1` } }),
  },
  'an endpoint that is compatible to OpenAI': {
    provider: 'local',
    model: 'llama-4',
    settings: (url) => ({
      ...none,
      endpoints: [{ provider: 'local', baseUrl: `${url}/v1`, keyVariable: 'LOCAL_KEY', key, maxOutputTokens: null, models: [] }],
    }),
  },
};

const mock = new LLMock({ port: 0 });
beforeAll(() => mock.start());
afterAll(() => mock.stop());
afterEach(() => {
  mock.reset();
});

describe.each(Object.entries(cases))('%s', (_name, { provider, model, settings }) => {
  const waiting = createWaiting();
  let providers: Providers;
  beforeAll(async () => {
    providers = await createProviders(settings(mock.url), waiting);
  });
  afterAll(() => providers.close());

  const ask = (fields: Partial<ModelRequest> = {}) => {
    const served = providers.byName.get(provider);
    if (served === undefined) throw new Error(`${provider} is not configured`);
    return hear(served.reply(model, requestOf({ model, ...fields })));
  };
  const failure = async (fields: Partial<ModelRequest> = {}): Promise<ProviderFailed> => {
    const error: unknown = await ask(fields).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    if (!(error instanceof ProviderFailed)) throw new Error(`it is no ProviderFailed: ${String(error)}`);
    return error;
  };
  const sent = (): string => JSON.stringify(mock.getRequests().map(({ body }) => body));

  test('text comes in pieces as it is generated, and then whole', async () => {
    const text = 'The weather in Oslo is grey, as it so often is in that city by the fjord.';
    mock.onMessage('hello', { content: text }, { chunkSize: 10 });
    const { deltas, reply } = await ask();
    expect(deltas.length).toBeGreaterThan(3);
    expect(deltas.join('')).toBe(text);
    expect(reply).toMatchObject({ text, toolCalls: [], finish: 'stop' });
    expect(sent()).toContain('You are terse.');
  });

  test('parallel tool calls arrive in the requested order, with distinct ids and the arguments as text', async () => {
    mock.onMessage('hello', {
      toolCalls: [
        { name: 'geo__weather', arguments: '{"city":"Oslo"}' },
        { name: 'geo__weather', arguments: '{"city":"Rome"}' },
      ],
    });
    const { reply } = await ask({ tools: [weatherTool] });
    expect(reply.finish).toBe('tool_calls');
    expect(reply.toolCalls.map(({ alias, arguments: text }) => [alias, JSON.parse(text)])).toEqual([
      ['geo__weather', { city: 'Oslo' }],
      ['geo__weather', { city: 'Rome' }],
    ]);
    expect(new Set(reply.toolCalls.map(({ callId }) => callId)).size).toBe(2);
    expect(sent()).toContain('the weather somewhere');
  });

  test('results are sent under the ids of their calls, and arguments that were not JSON as they were written', async () => {
    mock.onMessage('hello', { content: 'done' });
    const messages: readonly ModelMessage[] = [
      { role: 'user', text: 'hello' },
      {
        role: 'assistant',
        text: '',
        toolCalls: [
          { callId: 'call_a', alias: 'geo__weather', arguments: '{"city":"Oslo"}' },
          { callId: 'call_b', alias: 'geo__weather', arguments: shownArguments('the city: Rio') },
        ],
      },
      { role: 'tool', callId: 'call_a', alias: 'geo__weather', output: 'grey skies', isError: false },
      { role: 'tool', callId: 'call_b', alias: 'geo__weather', output: 'arguments are not JSON', isError: true },
    ];
    expect((await ask({ messages, tools: [weatherTool] })).reply.text).toBe('done');
    const said = sent();
    for (const part of ['call_a', 'call_b', 'Oslo', 'the city: Rio', 'grey skies', 'arguments are not JSON']) expect(said).toContain(part);
  });

  test('the request limits the length of the reply', async () => {
    mock.onMessage('hello', { content: 'ok' });
    await ask({ maxOutputTokens: 777 });
    expect(sent()).toContain('777');
  });

  test('after a 429 the request is retried once the requested time has passed', async () => {
    const from = waiting.waits.length;
    mock.on(
      { userMessage: 'hello', sequenceIndex: 0 },
      { error: { message: 'slow down', type: 'rate_limit_error' }, status: 429, retryAfter: 7 },
    );
    mock.on({ userMessage: 'hello', sequenceIndex: 1 }, { content: 'at last' });
    expect((await ask()).reply.text).toBe('at last');
    expect(waiting.waits.slice(from)).toEqual([7_500]);
  });

  test('a provider that asks for a pause of an hour is not asked again', async () => {
    mock.onMessage('hello', { error: { message: 'slow down' }, status: 429, retryAfter: 3_600 });
    expect(await failure()).toMatchObject({ status: 429, billed: false });
    expect(mock.getRequests()).toHaveLength(1);
  });

  test('a provider that always fails is asked five times, with growing pauses; the error then contains no key, query or body', async () => {
    const from = waiting.waits.length;
    mock.onMessage('hello', { error: { message: `no luck with ${key}`, type: 'server_error' }, status: 500 });
    const error = await failure();
    expect(error).toMatchObject({ message: `${provider} answered with status 500 (server_error)`, status: 500, billed: false });
    expect(error.cause).toBeUndefined();
    expect(mock.getRequests()).toHaveLength(5);
    expect(waiting.waits.slice(from)).toEqual([500, 1_000, 2_000, 4_000]);
  });

  test('an invalid request is not retried', async () => {
    mock.onMessage('hello', { error: { message: `bad key ${key}`, type: 'invalid_request_error', code: key }, status: 401 });
    const error = await failure();
    expect(error).toMatchObject({ message: `${provider} answered with status 401 (invalid_request_error)`, status: 401, billed: false });
    expect(mock.getRequests()).toHaveLength(1);
  });

  test('an answer that breaks off is a failure that may be billed, and is not requested again', async () => {
    mock.onMessage(
      'hello',
      { content: 'a rather long text that comes in many pieces, of which most are lost' },
      { chunkSize: 5, truncateAfterChunks: 4 },
    );
    expect(await failure()).toMatchObject({ message: `${provider} did not complete its reply`, billed: true });
    expect(mock.getRequests()).toHaveLength(1);
  });

  test('an abort between two attempts ends the request with the reason of the signal', async () => {
    mock.onMessage('hello', { error: { message: 'no' }, status: 503 });
    const stop = new AbortController();
    const reason = new Error('enough');
    const impatient = await createProviders(settings(mock.url), {
      ...waiting,
      wait: () => {
        stop.abort(reason);
        return Promise.reject(new Error('woken'));
      },
    });
    const reply = impatient.byName.get(provider)?.reply(model, requestOf({ model, signal: stop.signal }));
    await expect(reply === undefined ? null : hear(reply)).rejects.toBe(reason);
    expect(mock.getRequests()).toHaveLength(1);
    await impatient.close();
  });
});
