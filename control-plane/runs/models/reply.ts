// Builds one reply from the stream of the AI SDK. The result is a complete reply, or a failure of the provider.
import type { LanguageModelV3StreamPart, LanguageModelV3ToolCall, LanguageModelV3Usage } from '@ai-sdk/provider';
import { type ModelEvent, ProviderFailed, type RequestedCall, type TokenUsage } from '../model.ts';
import { brokenOff } from './failure.ts';
import { finishOf } from './finish.ts';
import { createPieces } from './pieces.ts';
import { createUnnamedCalls } from './unnamed-calls.ts';

export interface ReplyDraft {
  /**
   * Returns the text that the part adds. Throws `ProviderFailed` when the provider reports a failure or sends too much.
   */
  add(part: LanguageModelV3StreamPart): string;
  /** Throws `ProviderFailed` when the reply is incomplete. */
  whole(): Extract<ModelEvent, { kind: 'reply' }>;
}

/**
 * The maximum length of a reply in characters. No reply to our requests needs more, so a provider that sends more is
 * faulty.
 */
const replyCharactersMax = 4_194_304;
/**
 * Each piece and each call counts as this many characters in addition to its text, because even an empty piece uses
 * memory.
 */
const partCharacters = 32;

type End = Extract<LanguageModelV3StreamPart, { type: 'finish' }>;

export function createReplyDraft(provider: string): ReplyDraft {
  const pieces = createPieces();
  const unnamed = createUnnamedCalls();
  const toolCalls: RequestedCall[] = [];
  const callIds = new Set<string>();
  let text = '';
  let characters = 0;
  let end: End | null = null;

  function count(part: LanguageModelV3StreamPart): void {
    if ('delta' in part) characters += part.delta.length;
    if ('providerMetadata' in part) characters += JSON.stringify(part.providerMetadata ?? {}).length;
    characters += partCharacters * pieces.add(part);
    if (part.type === 'tool-call') characters += part.toolCallId.length + part.toolName.length;
    if (part.type === 'raw') characters += unnamed.add(part.rawValue, partCharacters);
    if (characters > replyCharactersMax) throw new ProviderFailed(`${provider} sent a reply that is too long`, null, true);
  }

  function take({ providerExecuted, toolCallId, toolName, input }: LanguageModelV3ToolCall): void {
    if (providerExecuted === true) return;
    // Some endpoints give all calls of a reply the same id, or none.
    const callId = toolCallId !== '' && !callIds.has(toolCallId) ? toolCallId : `${toolCallId}_${toolCalls.length + 1}`;
    callIds.add(callId);
    toolCalls.push({ callId, alias: toolName, arguments: input });
  }

  return {
    add: (part) => {
      count(part);
      switch (part.type) {
        case 'error':
          throw brokenOff(provider);
        case 'finish':
          end = part;
          return '';
        case 'tool-call':
          take(part);
          return '';
        case 'text-delta':
          text += part.delta;
          return part.delta;
        default:
          return '';
      }
    },
    whole: () => {
      const finish = end === null ? null : finishOf(end.finishReason);
      if (end === null || finish === null) throw brokenOff(provider);
      for (const part of unnamed.calls()) {
        pieces.add(part);
        take(part);
      }
      return { kind: 'reply', text, toolCalls, usage: usageFrom(end.usage), finish, ...pieces.kept() };
    },
  };
}

// Reads how many tokens a provider reports as billed.

/** Null when the provider does not report the usage, or reports impossible numbers. */
function usageFrom({ inputTokens: input, outputTokens: output, raw }: LanguageModelV3Usage): TokenUsage | null {
  const usage = {
    inputTokens: input.total ?? Number.NaN,
    cachedInputTokens: input.cacheRead ?? 0,
    cacheWriteTokens: input.cacheWrite ?? 0,
    // Some endpoints bill thinking tokens but do not include them in the output tokens. The total that these endpoints
    // report includes them.
    outputTokens: Math.max(output.total ?? Number.NaN, totalFrom(raw) - (input.total ?? 0)),
  };
  return Object.values(usage).every((count) => Number.isSafeInteger(count) && count >= 0) ? usage : null;
}

const totalFrom = (raw: LanguageModelV3Usage['raw']): number => {
  const total = raw?.['total_tokens'];
  return typeof total === 'number' ? total : 0;
};
