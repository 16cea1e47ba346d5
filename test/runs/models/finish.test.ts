// Why a reply ended, whatever name its provider has for it.
import type { LanguageModelV3FinishReason } from '@ai-sdk/provider';
import { expect, test } from 'vitest';
import { finishOf } from '../../../control-plane/runs/models/finish.ts';

test.each<readonly [LanguageModelV3FinishReason['unified'], string | undefined, ReturnType<typeof finishOf>]>([
  ['stop', 'end_turn', 'stop'],
  ['stop', 'pause_turn', 'paused'],
  ['tool-calls', 'tool_use', 'tool_calls'],
  ['length', 'max_tokens', 'length'],
  ['length', 'model_context_window_exceeded', 'length'],
  ['content-filter', 'refusal', 'refused'],
  ['other', 'model_length', 'length'],
  ['other', 'MAX_TOKENS', 'length'],
  ['other', 'SAFETY', 'refused'],
  ['other', 'RECITATION', 'refused'],
  ['other', 'eos', 'stop'],
  ['other', 'constructor', 'stop'],
  ['other', 'insufficient_system_resource', null],
  ['other', undefined, null],
  ['error', 'x', null],
])('%s (%s) is %s; null: the reply is not complete', (unified, raw, finish) => expect(finishOf({ unified, raw })).toBe(finish));
