// Implements a language model without a network: a pure function from the conversation so far to the next step, behind
// the interface that the AI SDK expects of any provider's model.
import type { LanguageModel } from 'ai';

type Model = Extract<LanguageModel, { readonly specificationVersion: 'v3' }>;
type Prompt = Parameters<Model['doGenerate']>[0]['prompt'];

/** The result of a tool call: its output, or the text of the error. */
interface ToolReply {
  readonly tool: string;
  readonly refused: boolean;
  readonly text: string;
}

type Step = { readonly call: string; readonly input: object } | { readonly say: string };

/** Decides all that the model does: returns the next step, from the tool results so far. */
export type Script = (heard: readonly ToolReply[]) => Step;

export function createScriptedModel(modelId: string, script: Script): Model {
  const unknown = { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined };
  return {
    specificationVersion: 'v3',
    provider: 'tollgate-demo',
    modelId,
    supportedUrls: {},
    doGenerate: async ({ prompt }) => {
      const heard = hear(prompt);
      const step = script(heard);
      const calls = 'call' in step;
      return {
        content: calls
          ? [{ type: 'tool-call', toolCallId: `call-${heard.length + 1}`, toolName: step.call, input: JSON.stringify(step.input) }]
          : [{ type: 'text', text: step.say }],
        finishReason: { unified: calls ? 'tool-calls' : 'stop', raw: undefined },
        usage: { inputTokens: unknown, outputTokens: { total: undefined, text: undefined, reasoning: undefined } },
        warnings: [],
      };
    },
    doStream: () => Promise.reject(new Error('the model of the demo does not support streaming')),
  };
}

function hear(prompt: Prompt): readonly ToolReply[] {
  return prompt.flatMap((message) =>
    message.role !== 'tool'
      ? []
      : message.content.flatMap((part) => {
          if (part.type !== 'tool-result') return [];
          const { type } = part.output;
          const text = 'value' in part.output ? part.output.value : '';
          return [{ tool: part.toolName, refused: type === 'error-text', text: typeof text === 'string' ? text : JSON.stringify(text) }];
        }),
  );
}

const errand: readonly Step[] = [
  { call: 'get-structured-content', input: { location: 'New York' } },
  { call: 'get-structured-content', input: { location: 'Chicago' } },
  { call: 'get-structured-content', input: { location: 'Los Angeles' } },
  { call: 'echo', input: { message: 'Weather for ada@acme-mail.eu: cloudy' } },
  { call: 'get-env', input: {} },
  { call: 'gzip-file-as-resource', input: { name: 'weather.gz', data: 'data:text/plain,cloudy' } },
  { call: 'get-tiny-image', input: {} },
  { call: 'get-sum', input: { a: 33, b: 36 } },
];

/** Makes the calls of `errand`, one in each round. Then it tells the user which calls were refused. */
export const scout: Script = (heard) => {
  const next = errand[heard.length];
  if (next !== undefined) return next;
  const refused = heard.filter((result) => result.refused);
  const waits = refused.filter(({ text }) => text.includes('allowed again in')).map(({ tool }) => tool);
  const stops = refused.filter(({ tool }) => !waits.includes(tool)).map(({ tool }) => tool);
  return {
    say: `${heard.length - refused.length} of ${heard.length} calls done. ${waits.join(', ')} I can try again later; not permitted: ${stops.join(', ')}.`,
  };
};

/** Sends one line after the other until a call is refused. */
export const courier: Script = (heard) => {
  const last = heard.at(-1);
  if (last?.refused === true) return { say: `Stopped after ${heard.length - 1} lines. I was told: ${last.text}` };
  return { call: 'echo', input: { message: `line ${heard.length + 1}` } };
};
