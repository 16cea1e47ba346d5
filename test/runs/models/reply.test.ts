// What a reply may hold, whatever its provider streams. `wire.test.ts` covers what comes over HTTP.
import type { LanguageModelV3StreamPart } from '@ai-sdk/provider';
import { expect, test } from 'vitest';
import { createReplyDraft } from '../../../control-plane/runs/models/reply.ts';

/** More pieces than would fit at 32 characters each. */
const many = 131_073;
const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } };
const finish: LanguageModelV3StreamPart = { type: 'finish', usage, finishReason: { unified: 'stop', raw: 'stop' } };
const choices = (index: number) => [{ delta: { tool_calls: [{ index, function: { name: '' } }] } }];

test.each<readonly [string, (at: number) => LanguageModelV3StreamPart]>([
  ['texts', (at) => ({ type: 'text-start', id: `t${at}` })],
  ['texts without a beginning', (at) => ({ type: 'text-delta', id: `t${at}`, delta: '' })],
  ['thoughts of one name that begin and end', (at) => ({ type: at % 2 === 0 ? 'reasoning-start' : 'reasoning-end', id: 'r' })],
  ['calls', (at) => ({ type: 'tool-call', toolCallId: `c${at}`, toolName: 'a', input: '' })],
  ['calls without a name', (at) => ({ type: 'raw', rawValue: { choices: choices(at) } })],
])('a reply of empty %s without an end is given up', (_what, part) => {
  const draft = createReplyDraft('local');
  const stream = (): void => {
    for (let at = 0; at < 2 * many; at += 1) draft.add(part(at));
  };
  expect(stream).toThrow('local sent a reply that is too long');
});

test('a text and a thought with one piece for each character arrive whole', () => {
  const draft = createReplyDraft('local');
  for (let at = 0; at < 2 * many; at += 1) {
    draft.add({ type: 'reasoning-delta', id: 'r', delta: 'r' });
    draft.add({ type: 'text-delta', id: 't', delta: 't' });
  }
  draft.add(finish);
  const { text, pieces } = draft.whole();
  expect([text.length, pieces?.length]).toEqual([2 * many, 2]);
});
