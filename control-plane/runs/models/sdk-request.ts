// Builds a request for the AI SDK. Providers reject empty texts, tool names that they do not allow, and schemas without
// the type `object`. This code never sends any of these. The arguments of calls are already objects.
import type {
  JSONObject,
  LanguageModelV3CallOptions,
  LanguageModelV3FunctionTool,
  LanguageModelV3Message,
  SharedV3ProviderOptions,
} from '@ai-sdk/provider';
import type { ModelMessage, ModelReply, ModelRequest, OfferedTool, ReplyPiece, RequestedCall } from '../model.ts';

interface Manner {
  /** The maximum length of a reply of the model, in tokens. */
  readonly limit: number;
  readonly options?: SharedV3ProviderOptions;
  readonly strictTools?: false;
}

export function callOptions(request: ModelRequest, { limit, options, strictTools }: Manner): LanguageModelV3CallOptions {
  const { system, messages, tools, maxOutputTokens, signal } = request;
  return {
    prompt: [...(system === '' ? [] : [{ role: 'system', content: system } as const]), ...promptFrom(messages)],
    maxOutputTokens: Math.min(maxOutputTokens, limit),
    abortSignal: signal,
    // The SDK drops some parts of a reply. Only the raw chunks contain these parts.
    includeRawChunks: true,
    ...(tools.length === 0 ? {} : { tools: tools.map((tool) => functionFrom(tool, strictTools)), toolChoice: { type: 'auto' } }),
    ...(options === undefined ? {} : { providerOptions: options }),
  };
}

function functionFrom({ alias, description, inputSchema }: OfferedTool, strict: false | undefined): LanguageModelV3FunctionTool {
  return {
    type: 'function',
    name: alias,
    description,
    inputSchema: { type: 'object', properties: {}, ...inputSchema },
    ...(strict === undefined ? {} : { strict }),
  };
}

type ToolMessage = Extract<LanguageModelV3Message, { role: 'tool' }>;

/** Builds the prompt. The results of parallel calls become one message. */
function promptFrom(messages: readonly ModelMessage[]): readonly LanguageModelV3Message[] {
  const prompt: LanguageModelV3Message[] = [];
  for (const message of messages) {
    const last = prompt.at(-1);
    if (message.role === 'tool' && last?.role === 'tool') last.content.push(resultFrom(message));
    else prompt.push(...messageFrom(message));
  }
  return prompt;
}

function messageFrom(message: ModelMessage): readonly LanguageModelV3Message[] {
  switch (message.role) {
    case 'user':
      return [{ role: 'user', content: [{ type: 'text', text: message.text }] }];
    case 'tool':
      return [{ role: 'tool', content: [resultFrom(message)] }];
    case 'assistant': {
      const content = contentFrom(message);
      return content.length === 0 ? [] : [{ role: 'assistant', content }];
    }
  }
}

type Content = Extract<LanguageModelV3Message, { role: 'assistant' }>['content'];

/** Returns the parts of a reply in their original order, each with the provider's mark. */
function contentFrom({ text, toolCalls, pieces }: ModelReply): Content {
  if (pieces === undefined) return [...textFrom(text), ...toolCalls.map((call) => callFrom(call))];
  let at = 0;
  const calls = toolCalls.values();
  return pieces.flatMap((piece): Content => {
    const marked = markedBy(piece);
    switch (piece.kind) {
      case 'thought':
        return [{ type: 'reasoning', text: piece.text, ...marked }];
      case 'text':
        return textFrom(text.slice(at, (at += piece.length)), marked);
      case 'call': {
        const { value } = calls.next();
        return value === undefined ? [] : [callFrom(value, marked)];
      }
    }
  });
}

type ProviderMark = { readonly providerOptions?: SharedV3ProviderOptions };

/** The metadata that an SDK provider attached to a part must be sent back with that part. */
const markedBy = ({ mark }: ReplyPiece): ProviderMark => (mark === undefined ? {} : { providerOptions: mark as SharedV3ProviderOptions });

const textFrom = (text: string, marked: ProviderMark = {}): Content => (text === '' ? [] : [{ type: 'text', text, ...marked }]);

const callFrom = ({ callId, alias, arguments: text }: RequestedCall, marked: ProviderMark = {}): Content[number] => ({
  type: 'tool-call',
  toolCallId: callId,
  toolName: nameFrom(alias),
  input: objectFrom(text),
  ...marked,
});

const resultFrom = ({ callId, alias, output, isError }: Extract<ModelMessage, { role: 'tool' }>): ToolMessage['content'][number] => ({
  type: 'tool-result',
  toolCallId: callId,
  toolName: nameFrom(alias),
  output: { type: isError ? 'error-text' : 'text', value: output },
});

/** Returns a tool name that providers accept. Models invent names, and a call may have an empty name. */
const nameFrom = (alias: string): string => (/^[A-Za-z0-9_-]{1,64}$/.test(alias) ? alias : 'unknown');

/** Parses the arguments of a call. The loop passes only the JSON of an object. */
function objectFrom(text: string): JSONObject {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('the arguments of a tool call must be a JSON object');
  return value as JSONObject;
}
