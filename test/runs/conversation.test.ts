// Which part of a conversation is held for the model, and which part is stored. Both are bounded.
import { expect, test } from 'vitest';
import { createConversation } from '../../control-plane/runs/conversation.ts';

const mebi = 1_048_576;
const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

test('of 500 tool outputs of 100,000 bytes, the model receives as many as fit in 16 MiB, and one line for each of the others', () => {
  const conversation = createConversation();
  const output = 'o'.repeat(100_000);
  const sayOutput = (n: number): void =>
    conversation.say({ role: 'tool', callId: `call-${n}`, alias: 'files.read', output, isError: false });
  for (let n = 0; n < 500; n++) sayOutput(n);
  expect(conversation.bytes).toBe(conversation.messages.reduce((sum, message) => sum + bytesOf(message), 0));
  const lines = conversation.messages.filter((message) => message.role === 'tool' && message.output !== output);
  expect(conversation.messages).toHaveLength(500);
  expect(lines).toHaveLength(500 - Math.floor((16 * mebi) / bytesOf(conversation.messages[0])));
  expect(conversation.bytes).toBeLessThan(16 * mebi + lines.length * 250);
  expect(conversation.messages.at(-1)).toEqual({
    role: 'tool',
    callId: 'call-499',
    alias: 'files.read',
    output: 'This output was left out: the conversation is as long as it may be.',
    isError: true,
  });
});

test('of what is stored for the record, 8 MiB are held, then a mark that it was cut, and nothing after it', () => {
  const conversation = createConversation();
  const keepText = (): void => conversation.keep({ role: 'user', text: 't'.repeat(100_000) });
  for (let n = 0; n < 500; n++) keepText();
  expect(bytesOf(conversation.kept)).toBeLessThanOrEqual(8 * mebi);
  expect(conversation.kept).toHaveLength(Math.floor((8 * mebi) / bytesOf(conversation.kept[0])) + 1);
  expect(conversation.kept.at(-1)).toEqual({ role: 'cut' });
  conversation.keep({ role: 'user', text: 'short' });
  expect(conversation.kept.at(-1)).toEqual({ role: 'cut' });
});

test('each round writes at most the first 1 MiB of it, and a note that there is more', () => {
  const conversation = createConversation();
  for (let n = 0; n < 100; n++) conversation.keep({ role: 'user', text: 't'.repeat(100_000) });
  const soFar = conversation.keptSoFar();
  expect(bytesOf(soFar)).toBeLessThanOrEqual(mebi);
  expect(soFar).toEqual([...conversation.kept.slice(0, 10), { role: 'cut' }]);
});

test('an input of a tool is stored up to 64 KiB, and only its beginning where it is longer', () => {
  const conversation = createConversation();
  const input = { path: 'p'.repeat(mebi) };
  conversation.keep({ role: 'assistant', text: '', toolCalls: [{ callId: 'call-1', tool: 'files.read', input }] });
  const [message] = conversation.kept;
  expect(bytesOf(message)).toBeLessThan(65 * 1024);
  expect(message).toMatchObject({ toolCalls: [{ input: { cut: true, begins: JSON.stringify(input).slice(0, 64 * 1024) } }] });
});
