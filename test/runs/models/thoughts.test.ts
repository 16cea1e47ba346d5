// The thoughts of a model in one round are sent to it in the next round in the form that its provider requires, over
// HTTP. A server of the test streams the first reply, and stores the request after it.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ModelMessage, ModelReply } from '../../../control-plane/runs/model.ts';
import { createProviders, type Providers } from '../../../control-plane/runs/models/providers.ts';
import { createWaiting, hear, requestOf, weatherTool } from '../../support/model-requests.ts';

let answer: readonly object[] = [];
let body = '';
const server = createServer((asked, answering) => {
  body = '';
  asked.setEncoding('utf8').on('data', (text: string) => {
    body += text;
  });
  asked.on('end', () => {
    const lines = answer.map((event) => `${'type' in event ? `event: ${String(event.type)}\n` : ''}data: ${JSON.stringify(event)}\n\n`);
    answering.writeHead(200, { 'content-type': 'text/event-stream' }).end(lines.join(''));
  });
});
let providers: Providers;
beforeAll(async () => {
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  const baseUrl = `http://127.0.0.1:${port}/v1`;
  const endpoint = { provider: 'local', baseUrl, keyVariable: null, key: null, maxOutputTokens: null, models: [] };
  providers = await createProviders(
    { openai: { key: 'sk-o', baseUrl, api: 'responses' }, anthropic: { key: 'sk-a', baseUrl }, endpoints: [endpoint] },
    createWaiting(),
  );
});
afterAll(async () => {
  await providers.close();
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});

/** Returns what is sent in the round after the one in which the provider sent these events. */
async function sentAfter(provider: string, model: string, events: readonly object[]): Promise<unknown> {
  const served = providers.byName.get(provider);
  if (served === undefined) throw new Error(`${provider} is not configured`);
  answer = events;
  const ask = (messages: readonly ModelMessage[]) => hear(served.reply(model, requestOf({ model, messages, tools: [weatherTool] })));
  const user: ModelMessage = { role: 'user', text: 'hello' };
  const { text, toolCalls, pieces }: ModelReply = (await ask([user])).reply;
  expect({ text, calls: toolCalls.length }).toEqual({ text: 'I look.', calls: 1 });
  const results = toolCalls.map(({ callId, alias }): ModelMessage => ({ role: 'tool', callId, alias, output: 'grey', isError: false }));
  await ask([user, { role: 'assistant', text, toolCalls, ...(pieces === undefined ? {} : { pieces }) }, ...results]);
  return JSON.parse(body);
}

const block = (index: number, start: object, ...deltas: readonly object[]): readonly object[] => [
  { type: 'content_block_start', index, content_block: start },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
];

test('Anthropic gets its thoughts with their signatures, in their places, and those that only it can read', async () => {
  const message = { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null, stop_sequence: null };
  const sent = await sentAfter('anthropic', 'claude-opus-4-1', [
    { type: 'message_start', message: { ...message, usage: { input_tokens: 1, output_tokens: 1 } } },
    ...block(
      0,
      { type: 'thinking', thinking: '', signature: '' },
      { type: 'thinking_delta', thinking: 'Where ' },
      { type: 'thinking_delta', thinking: 'is it?' },
      { type: 'signature_delta', signature: 'sig-1' },
    ),
    ...block(1, { type: 'redacted_thinking', data: 'sealed' }),
    ...block(2, { type: 'text', text: '' }, { type: 'text_delta', text: 'I ' }, { type: 'text_delta', text: 'look.' }),
    ...block(3, { type: 'thinking', thinking: '', signature: '' }, { type: 'signature_delta', signature: 'sig-2' }),
    ...block(
      4,
      { type: 'tool_use', id: 'call', name: weatherTool.alias, input: {} },
      { type: 'input_json_delta', partial_json: '{"city":"Oslo"}' },
    ),
    { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 3 } },
    { type: 'message_stop' },
  ]);
  expect(sent).toMatchObject({
    messages: [
      { role: 'user' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Where is it?', signature: 'sig-1' },
          { type: 'redacted_thinking', data: 'sealed' },
          { type: 'text', text: 'I look.' },
          { type: 'thinking', thinking: '', signature: 'sig-2' },
          { type: 'tool_use', id: 'call', name: weatherTool.alias, input: { city: 'Oslo' } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call' }] },
    ],
  });
});

test('OpenAI gets the item that contains its thought, which it has encrypted, because it stores nothing', async () => {
  const reasoning = { type: 'reasoning', id: 'rs_1', summary: [] };
  const call = { type: 'function_call', id: 'fc_1', call_id: 'call', name: weatherTool.alias };
  const sent = await sentAfter('openai', 'gpt-5', [
    { type: 'response.created', response: { id: 'r', created_at: 1, model: 'm' } },
    { type: 'response.output_item.added', output_index: 0, item: { ...reasoning, encrypted_content: 'early' } },
    { type: 'response.output_item.done', output_index: 0, item: { ...reasoning, encrypted_content: 'sealed' } },
    { type: 'response.output_item.added', output_index: 1, item: { type: 'message', id: 'msg_1' } },
    { type: 'response.output_text.delta', item_id: 'msg_1', delta: 'I look.' },
    { type: 'response.output_item.done', output_index: 1, item: { type: 'message', id: 'msg_1' } },
    { type: 'response.output_item.added', output_index: 2, item: { ...call, arguments: '' } },
    { type: 'response.output_item.done', output_index: 2, item: { ...call, arguments: '{"city":"Oslo"}', status: 'completed' } },
    { type: 'response.completed', response: { incomplete_details: null, usage: { input_tokens: 1, output_tokens: 2 } } },
  ]);
  expect(sent).toMatchObject({
    store: false,
    include: ['reasoning.encrypted_content'],
    input: [
      expect.anything(),
      { role: 'user' },
      { type: 'reasoning', id: 'rs_1', encrypted_content: 'sealed' },
      { role: 'assistant', content: [{ type: 'output_text', text: 'I look.' }] },
      { type: 'function_call', call_id: 'call', name: weatherTool.alias, arguments: '{"city":"Oslo"}' },
      { type: 'function_call_output', call_id: 'call' },
    ],
  });
});

test('an endpoint gets its thoughts back under the name that it gave them', async () => {
  const chunk = (delta: object, finish: string | null = null) => ({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const call = { index: 0, id: 'call', type: 'function', function: { name: weatherTool.alias, arguments: '{"city":"Oslo"}' } };
  const sent = await sentAfter('local', 'some-model', [
    chunk({ role: 'assistant', reasoning_content: 'Where ' }),
    chunk({ reasoning_content: 'is it?' }),
    chunk({ content: 'I look.' }),
    chunk({ tool_calls: [call] }),
    chunk({}, 'tool_calls'),
  ]);
  expect(sent).toMatchObject({
    messages: [
      { role: 'system' },
      { role: 'user' },
      { role: 'assistant', reasoning_content: 'Where is it?', content: 'I look.', tool_calls: [{ id: 'call' }] },
      { role: 'tool', tool_call_id: 'call' },
    ],
  });
});
