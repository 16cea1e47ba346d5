// One reply, put together from what the AI SDK streams of it. It is whole, or a failure of the provider's.
import type { LanguageModelV3StreamPart, LanguageModelV3ToolCall } from '@ai-sdk/provider';
import { type ModelEvent, ProviderFailed, type RequestedCall } from '../model.ts';
import { brokenOff } from './failure.ts';
import { finishOf } from './finish.ts';
import { createPieces } from './pieces.ts';
import { createUnnamedCalls } from './unnamed-calls.ts';
import { usageFrom } from './usage.ts';

export interface ReplyDraft {
  /** The text that the part adds. Throws `ProviderFailed` where the provider says that it failed, or finds no end. */
  add(part: LanguageModelV3StreamPart): string;
  /** Throws `ProviderFailed` where it is not whole. */
  whole(): Extract<ModelEvent, { kind: 'reply' }>;
}

/** What the reply to any request of ours could be; a provider that sends more has gone wrong. */
const replyCharactersMax = 4_194_304;
/** What a piece or a call counts besides its text: an empty one takes memory too. */
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
    if (characters > replyCharactersMax) throw new ProviderFailed(`${provider} answered without an end`, null, true);
  }

  function take({ providerExecuted, toolCallId, toolName, input }: LanguageModelV3ToolCall): void {
    if (providerExecuted === true) return;
    // Some endpoints give all calls of a reply one id, or none.
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
