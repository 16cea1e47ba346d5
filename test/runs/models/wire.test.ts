// What providers can send that no fake of them sends. The servers of this test answer exactly what the test has written
// down.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { LanguageModelV3 } from '@ai-sdk/provider';
import { afterEach, describe, expect, test } from 'vitest';
import { type ModelRequest, ProviderFailed } from '../../../control-plane/runs/model.ts';
import { createProviders, type Providers } from '../../../control-plane/runs/models/providers.ts';
import { providerOf } from '../../../control-plane/runs/models/sdk.ts';
import { createWaiting, hear, requestOf } from '../../support/model-requests.ts';

type Handler = (asked: IncomingMessage, answer: ServerResponse) => void;

const opened: { readonly server: Server; readonly providers: Providers }[] = [];
afterEach(async () => {
  for (const { server, providers } of opened.splice(0)) {
    await providers.close();
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  }
});

async function serve(handler: Handler) {
  let requests = 0;
  const server = createServer((asked, answer) => {
    requests += 1;
    // The server answers only after the whole request has arrived.
    asked.resume().on('end', () => handler(asked, answer));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/v1`;
  const waiting = createWaiting();
  const endpoint = { provider: 'local', baseUrl: url, keyVariable: null, key: null, maxOutputTokens: 500, models: [] };
  const providers = await createProviders(
    { openai: { key: 'sk-o', baseUrl: url, api: 'responses' }, anthropic: { key: 'sk-a', baseUrl: url }, endpoints: [endpoint] },
    waiting,
  );
  opened.push({ server, providers });
  const ask = (provider: string, fields: Partial<ModelRequest> = {}) => {
    const served = providers.byName.get(provider);
    if (served === undefined) throw new Error(`${provider} is not configured`);
    return hear(served.reply('some-model', requestOf({ model: 'some-model', ...fields })));
  };
  return { ask, providers, server, waits: waiting.waits, requests: () => requests };
}

function createLatch(): { readonly open: () => void; readonly opened: Promise<void> } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
}

const events = (...all: readonly object[]): string =>
  all.map((event) => `${'type' in event ? `event: ${String(event.type)}\n` : ''}data: ${JSON.stringify(event)}\n\n`).join('');

const stream =
  (...all: readonly object[]): Handler =>
  (_asked, answer) =>
    answer
      .writeHead(200, { 'content-type': 'text/event-stream' })
      .end(`${events(...all)}${'choices' in (all[0] ?? {}) ? 'data: [DONE]\n\n' : ''}`);

const chunk = (fields: object, more: object = {}) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta: {}, finish_reason: null, ...fields }],
  ...more,
});
const said = chunk({ delta: { role: 'assistant', content: 'hi' } });
const stopped = chunk({ finish_reason: 'stop' });
const usage = (counts: object) => ({ ...chunk({}), choices: [], usage: counts });

const hiBlock: readonly object[] = [
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } },
  { type: 'content_block_stop', index: 0 },
];

const messageStart = (start: object): object => ({
  type: 'message_start',
  message: {
    id: 'm',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: start,
  },
});

const anthropic = (start: object, end: object, blocks = hiBlock) =>
  stream(
    messageStart(start),
    ...blocks,
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: end },
    { type: 'message_stop' },
  );

describe('usage', () => {
  test('of OpenAI: tokens read from a cache are part of the input, and thinking tokens are part of the output', async () => {
    const { ask } = await serve(
      stream(
        { type: 'response.created', response: { id: 'r', created_at: 1, model: 'm' } },
        { type: 'response.output_item.added', output_index: 0, item: { type: 'message', id: 'msg' } },
        { type: 'response.output_text.delta', item_id: 'msg', delta: 'hi' },
        { type: 'response.output_item.done', output_index: 0, item: { type: 'message', id: 'msg' } },
        {
          type: 'response.completed',
          response: {
            incomplete_details: null,
            usage: {
              input_tokens: 120,
              input_tokens_details: { cached_tokens: 100 },
              output_tokens: 30,
              output_tokens_details: { reasoning_tokens: 20 },
            },
          },
        },
      ),
    );
    const { reply } = await ask('openai');
    expect(reply).toMatchObject({
      text: 'hi',
      finish: 'stop',
      usage: { inputTokens: 120, cachedInputTokens: 100, cacheWriteTokens: 0, outputTokens: 30 },
    });
  });

  test('of Anthropic: tokens read from and written to a cache are added to the input', async () => {
    const { ask } = await serve(
      anthropic(
        { input_tokens: 20, cache_read_input_tokens: 100, cache_creation_input_tokens: 7, output_tokens: 1 },
        { output_tokens: 30 },
      ),
    );
    const { reply } = await ask('anthropic');
    expect(reply).toMatchObject({
      text: 'hi',
      finish: 'stop',
      usage: { inputTokens: 127, cachedInputTokens: 100, cacheWriteTokens: 7, outputTokens: 30 },
    });
  });

  test.each([
    [
      'cached input',
      { prompt_tokens: 120, completion_tokens: 30, total_tokens: 150, prompt_tokens_details: { cached_tokens: 100 } },
      [120, 100, 0, 30],
    ],
    ['thoughts that are in the total only', { prompt_tokens: 120, completion_tokens: 30, total_tokens: 190 }, [120, 0, 0, 70]],
    ['no total', { prompt_tokens: 120, completion_tokens: 30 }, [120, 0, 0, 30]],
  ])('of an endpoint, with %s', async (_name, counts, [inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens]) => {
    const { ask } = await serve(stream(said, stopped, usage(counts)));
    expect((await ask('local')).reply.usage).toEqual({ inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens });
  });

  test.each([
    ['none', [said, stopped]],
    ['less than none', [said, stopped, usage({ prompt_tokens: -5, completion_tokens: 3 })]],
    ['parts of tokens', [said, stopped, usage({ prompt_tokens: 5.5, completion_tokens: 3 })]],
  ])('that counts %s is unknown', async (_name, all) => {
    const { ask } = await serve(stream(...all));
    expect((await ask('local')).reply).toMatchObject({ text: 'hi', usage: null });
  });
});

const toolUse = (index: number, name: string, text: string): readonly object[] => [
  { type: 'content_block_start', index, content_block: { type: 'tool_use', id: 'same', name, input: {} } },
  { type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json: text } },
  { type: 'content_block_stop', index },
];

test('calls with the same id get separate ids, and arguments that are not JSON stay as they are', async () => {
  const blocks = [...toolUse(0, 'a', '{"x":'), ...toolUse(1, 'b', '{}')];
  const { ask } = await serve(anthropic({ input_tokens: 20, output_tokens: 1 }, { output_tokens: 30 }, blocks));
  const { toolCalls } = (await ask('anthropic')).reply;
  expect(toolCalls).toEqual([
    { callId: 'same', alias: 'a', arguments: '{"x":' },
    { callId: 'same_2', alias: 'b', arguments: '{}' },
  ]);
});

test('a reply that was cut reports it', async () => {
  const { ask } = await serve(stream(said, chunk({ finish_reason: 'length' })));
  expect((await ask('local')).reply.finish).toBe('length');
});

test.each(['local', 'openai', 'anthropic'])('a request to %s that is never answered ends when the signal aborts', async (provider) => {
  const stop = new AbortController();
  const reason = new Error('enough');
  const left = createLatch();
  const { ask, requests } = await serve((asked) => {
    asked.socket.once('close', () => left.open());
    stop.abort(reason);
  });
  await expect(ask(provider, { signal: stop.signal })).rejects.toBe(reason);
  await left.opened;
  expect(requests()).toBe(1);
});

test('a request whose answer stops in the middle ends when the signal aborts', async () => {
  const { providers } = await serve((_asked, answer) => answer.writeHead(200, { 'content-type': 'text/event-stream' }).write(events(said)));
  const stop = new AbortController();
  const reason = new Error('enough');
  const told = providers.byName.get('local')?.reply('m', requestOf({ model: 'm', signal: stop.signal }));
  const reply = told?.[Symbol.asyncIterator]();
  expect(await reply?.next()).toEqual({ done: false, value: { kind: 'text', delta: 'hi' } });
  const next = reply?.next();
  stop.abort(reason);
  await expect(next).rejects.toBe(reason);
});

const begun: Readonly<Record<string, readonly object[]>> = {
  local: [said],
  openai: [
    { type: 'response.created', response: { id: 'r', created_at: 1, model: 'm' } },
    { type: 'response.output_item.added', output_index: 0, item: { type: 'message', id: 'msg' } },
    { type: 'response.output_text.delta', item_id: 'msg', delta: 'hi' },
  ],
  anthropic: [messageStart({ input_tokens: 1, output_tokens: 1 }), ...hiBlock.slice(0, 2)],
};

test.each(Object.entries(begun))('when the reader of %s stops reading, the request ends', async (provider, all) => {
  const left = createLatch();
  const { providers } = await serve((asked, answer) => {
    asked.socket.once('close', () => left.open());
    answer.writeHead(200, { 'content-type': 'text/event-stream' }).write(events(...all));
  });
  for await (const event of providers.byName.get(provider)?.reply('m', requestOf({ model: 'm' })) ?? []) {
    expect(event).toEqual({ kind: 'text', delta: 'hi' });
    break;
  }
  await left.opened;
});

const failure = async (asked: Promise<unknown>): Promise<ProviderFailed> => {
  const error: unknown = await asked.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ProviderFailed)) throw new Error(`it is no ProviderFailed: ${String(error)}`);
  return error;
};

test('a provider that is not reachable is tried five times, and costs nothing', async () => {
  const { ask, server, waits } = await serve(() => {});
  await new Promise((done) => server.close(done));
  expect(await failure(ask('local'))).toMatchObject({ message: 'local cannot be reached (ECONNREFUSED)', status: null, billed: false });
  expect(waits).toHaveLength(4);
});

test('a provider that takes the request and closes the connection may bill it, and is not asked again', async () => {
  const { ask, requests } = await serve((asked) => asked.socket.destroy());
  expect(await failure(ask('local'))).toMatchObject({ message: 'local did not complete its reply', billed: true });
  expect(requests()).toBe(1);
});

test('no redirect is followed, because the key would be sent to it', async () => {
  const { ask, requests } = await serve((_asked, answer) => answer.writeHead(307, { location: '/v1/elsewhere' }).end());
  expect(await failure(ask('anthropic'))).toMatchObject({ message: 'anthropic answered with status 307', status: 307, billed: false });
  expect(requests()).toBe(1);
});

test('an answer that is not a stream of events is a failure', async () => {
  const { ask } = await serve((_asked, answer) => answer.writeHead(200, { 'content-type': 'text/html' }).end('<h1>welcome</h1>'));
  expect(await failure(ask('local'))).toMatchObject({ message: 'local did not complete its reply', billed: true });
});

test('an answer without an end is given up', async () => {
  const { ask } = await serve((_asked, answer) => {
    answer.writeHead(200, { 'content-type': 'text/event-stream' });
    const long = events(chunk({ delta: { content: 'x'.repeat(1_000_000) } }));
    for (let n = 0; n < 5; n += 1) answer.write(long);
  });
  expect(await failure(ask('local'))).toMatchObject({ message: 'local sent a reply that is too long', billed: true });
});

test.each([
  ['local', 'authorization', undefined],
  ['openai', 'authorization', 'Bearer sk-o'],
  ['anthropic', 'x-api-key', 'sk-a'],
])('%s receives only its own key', async (provider, header, value) => {
  let shown: IncomingMessage['headers'] = {};
  const { ask } = await serve((asked, answer) => {
    shown = asked.headers;
    answer.writeHead(400).end();
  });
  await failure(ask(provider));
  expect(shown[header]).toBe(value);
  expect(JSON.stringify(shown).match(/sk-/g) ?? []).toHaveLength(value === undefined ? 0 : 1);
});

test('a bug of ours is thrown unchanged, and not attributed to the provider', async () => {
  const bug = new TypeError('the options are wrong');
  const broken = { doStream: () => Promise.reject(bug) } as unknown as LanguageModelV3;
  const provider = providerOf({ provider: 'openai', model: () => broken, limit: () => 10 }, createWaiting());
  await expect(hear(provider.reply('m', requestOf({ model: 'm' })))).rejects.toBe(bug);
});

test('the caller is notified that no request is under way in a pause, and that one is after it', async () => {
  const heard: boolean[] = [];
  let asked = 0;
  const { ask } = await serve((request, answer) => {
    asked += 1;
    if (asked < 3) answer.writeHead(429).end('{}');
    else stream(said, stopped, usage({ prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }))(request, answer);
  });
  await ask('local', { underWay: (is) => void heard.push(is) });
  expect(heard).toEqual([true, false, true, false, true]);
});

test('a request that was finally rejected is not under way, and one that broke off is', async () => {
  const heard: boolean[] = [];
  const refusing = await serve((_request, answer) => answer.writeHead(503).end('{}'));
  await expect(refusing.ask('local', { underWay: (is) => void heard.push(is) })).rejects.toMatchObject({ billed: false });
  const cutting = await serve((_request, answer) => answer.destroy());
  await expect(cutting.ask('local', { underWay: (is) => void heard.push(is) })).rejects.toMatchObject({ billed: true });
  expect(heard.at(-1)).toBe(true);
});

describe('a call of an endpoint without a name', () => {
  const calling = (...calls: readonly object[]) => chunk({ delta: { role: 'assistant', tool_calls: calls } });
  const nameless = { index: 0, id: 'a', type: 'function', function: { name: '', arguments: '{"x":1}' } };
  const named = { index: 1, id: 'b', type: 'function', function: { name: 'geo__weather', arguments: '{}' } };
  const ended = chunk({ finish_reason: 'tool_calls' });
  const callsOf = async (...chunks: readonly object[]) => {
    const { ask } = await serve(stream(...chunks, ended));
    return (await ask('local')).reply.toolCalls;
  };

  test('is a call, alone or with others', async () => {
    const found = { callId: 'a', alias: '', arguments: '{"x":1}' };
    expect(await callsOf(calling(nameless))).toEqual([found]);
    expect(await callsOf(calling(nameless, named))).toEqual([{ callId: 'b', alias: 'geo__weather', arguments: '{}' }, found]);
  });

  test('whose name comes later is one call', async () => {
    const later = { ...nameless, function: { name: 'geo__weather', arguments: '{"x":1}' } };
    const calls = await callsOf(calling({ ...nameless, function: { name: '', arguments: '' } }), calling(later));
    expect(calls).toEqual([{ callId: 'a', alias: 'geo__weather', arguments: '{"x":1}' }]);
  });
});
