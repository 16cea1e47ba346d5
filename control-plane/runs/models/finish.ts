// Why a reply ended, in one set of words for all providers.
import type { LanguageModelV3FinishReason } from '@ai-sdk/provider';
import type { Finish } from '../model.ts';

/** What the SDK has no word for, as providers call it. Any other is one that we do not know, and an end like most. */
const others: Readonly<Record<string, Finish | 'broken'>> = {
  max_output_tokens: 'length',
  max_tokens: 'length',
  model_length: 'length',
  blocklist: 'refused',
  prohibited_content: 'refused',
  recitation: 'refused',
  refusal: 'refused',
  safety: 'refused',
  sensitive: 'refused',
  spii: 'refused',
  abort: 'broken',
  error: 'broken',
  insufficient_system_resource: 'broken',
  malformed_function_call: 'broken',
  network_error: 'broken',
};

/** Null: it is not whole. The SDK makes a finish of its own where the stream ends early, and has no reason for it. */
export function finishOf({ unified, raw }: LanguageModelV3FinishReason): Finish | null {
  switch (unified) {
    case 'stop':
      return raw === 'pause_turn' ? 'paused' : 'stop';
    case 'length':
      return 'length';
    case 'tool-calls':
      return 'tool_calls';
    case 'content-filter':
      return 'refused';
    case 'error':
      return null;
    case 'other': {
      const name = raw?.toLowerCase();
      const known = name === undefined ? 'broken' : ((Object.hasOwn(others, name) ? others[name] : undefined) ?? 'stop');
      return known === 'broken' ? null : known;
    }
  }
}
