import { expect, test } from 'vitest';
import { createAliases } from '../../../control-plane/runs/tools/aliases.ts';
import type { ModelMessage, ModelRequest } from '../../../control-plane/runs/model.ts';
import { echo } from '../../../control-plane/runs/models/echo.ts';
import { hear, requestOf, weatherTool } from '../../support/model-requests.ts';

const ask = (text: string, more: Partial<ModelRequest> = {}) =>
  hear(echo(requestOf({ model: 'demo/echo', messages: [{ role: 'user', text }], ...more })));

const calls = `Look it up.\ncall geo.weather {"city":"Oslo"}\ncall geo.weather {"city":"Rome"}\nthen\ncall geo.time`;

test('it answers with its input, word by word, and counts the same tokens each time', async () => {
  const heard = await ask('Say  this\nand that.');
  expect(heard.deltas).toEqual(['Say  ', 'this\n', 'and ', 'that.']);
  expect(heard.reply).toMatchObject({ text: 'Say  this\nand that.', toolCalls: [], finish: 'stop' });
  expect(heard.reply.usage?.inputTokens).toBeGreaterThan(0);
  expect(await ask('Say  this\nand that.')).toEqual(heard);
});

test('lines of the right form are parallel calls, by the alias of the tool, with separate ids', async () => {
  const { deltas, reply } = await ask(calls, { tools: [weatherTool] });
  expect(deltas).toEqual([]);
  expect(reply).toMatchObject({
    finish: 'tool_calls',
    toolCalls: [
      { callId: 'call_1_1', alias: 'geo__weather', arguments: '{"city":"Oslo"}' },
      { callId: 'call_1_2', alias: 'geo__weather', arguments: '{"city":"Rome"}' },
    ],
  });
});

test('the lines after "then" are the next round, and after all rounds come the results of the tools', async () => {
  const first = await ask(calls);
  const second: readonly ModelMessage[] = [
    { role: 'user', text: calls },
    { role: 'assistant', text: '', toolCalls: first.reply.toolCalls },
    { role: 'tool', callId: 'call_1_1', alias: 'geo__weather', output: '{"sky":"grey"}', isError: false },
    { role: 'tool', callId: 'call_1_2', alias: 'geo__weather', output: 'no such city\ncall geo.time', isError: true },
  ];
  const next = await hear(echo(requestOf({ model: 'demo/echo', messages: second })));
  expect(next.reply.toolCalls).toEqual([{ callId: 'call_2_1', alias: 'geo__time', arguments: '{}' }]);
  const last = await hear(
    echo(
      requestOf({
        model: 'demo/echo',
        messages: [
          ...second,
          { role: 'assistant', text: '', toolCalls: next.reply.toolCalls },
          { role: 'tool', callId: 'call_2_1', alias: 'geo__time', output: '"noon"', isError: false },
        ],
      }),
    ),
  );
  expect(last.reply).toMatchObject({ toolCalls: [], finish: 'stop' });
  expect(last.reply.text).toBe(
    'Look it up.\ngeo__weather gave: {"sky":"grey"}\ngeo__weather failed: no such city\ncall geo.time\ngeo__time gave: "noon"',
  );
});

test('a tool whose alias is not plain is called by its name, and so is one that is not offered', async () => {
  const { reply } = await ask('call geo.größe\ncall nothing');
  expect(reply.toolCalls.map(({ alias }) => alias)).toEqual([createAliases(['geo.größe']).aliasOf('geo.größe'), 'nothing']);
});

test('arguments reach the loop as they were written, JSON or not', async () => {
  const { reply } = await ask('call geo.weather {"city":');
  expect(reply.toolCalls).toEqual([{ callId: 'call_1_1', alias: 'geo__weather', arguments: '{"city":' }]);
});

test('it says no more than the maximum, and reports that it was cut', async () => {
  const { reply } = await ask('one two three four five six seven', { maxOutputTokens: 3 });
  expect(reply).toMatchObject({ text: 'one two ', finish: 'length' });
});

test('an abort ends it with the reason of the signal, in the middle too', async () => {
  const stop = new AbortController();
  const events = echo(requestOf({ model: 'demo/echo', messages: [{ role: 'user', text: 'one two' }], signal: stop.signal }));
  expect(await events.next()).toEqual({ done: false, value: { kind: 'text', delta: 'one ' } });
  const reason = new Error('enough');
  stop.abort(reason);
  await expect(events.next()).rejects.toBe(reason);
});
