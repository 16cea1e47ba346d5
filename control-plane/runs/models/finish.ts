// Converts a provider's reason for the end of a reply to a `Finish`. All providers share the same `Finish` values.
import type { LanguageModelV3FinishReason } from '@ai-sdk/provider';
import type { Finish } from '../model.ts';

/**
 * Reasons that the SDK does not map, by the names that providers use. A reason that neither the SDK nor this list knows
 * counts as a normal end.
 */
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

/**
 * Returns null when the reply is incomplete. When the stream ends early, the SDK itself adds a reason for the end, and
 * this one has no `raw` value.
 */
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
