// A model of all providers on loopback, simulated by aimock. When an agent that offers the tool asks, the model
// requests one call, or the same call several times, each once a request brings the result of the one before; then it
// ends the turn. The received results are kept: they are what the agent's model knows.
import { type ChatCompletionRequest, type ChatMessage, LLMock } from '@copilotkit/aimock';

export interface ScriptedModel {
  readonly url: string;
  /** From now on it requests this call, and has received no result. */
  wants(call: WantedCall, script?: Script): void;
  /** Whether it has requested the call. */
  asked(): boolean;
  /** The result of the call that it received; null: none. */
  told(): string | null;
  /** The results that it received, one for each call. */
  results(): readonly string[];
  /** When it received the first of them, in ms since 1970; null: none. */
  toldAt(): number | null;
}

export interface Script {
  /** How often it requests the call. */
  readonly times: number;
  /** What happens before it requests the call again: `made` results have been received. */
  readonly between: (made: number) => Promise<void>;
}

const once: Script = { times: 1, between: async () => undefined };

export interface WantedCall {
  /** The name under which the agent offers the tool to its model. */
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

const textIn = ({ content }: ChatMessage): string =>
  typeof content === 'string' ? content : (content ?? []).map(({ text }) => text ?? '').join('\n');

const resultsIn = ({ messages }: ChatCompletionRequest): readonly string[] => messages.filter(({ role }) => role === 'tool').map(textIn);

const offers = ({ tools = [] }: ChatCompletionRequest, name: string): boolean => tools.some((tool) => tool.function.name === name);

export async function startModel(): Promise<ScriptedModel & { close(): Promise<void> }> {
  let wanted: WantedCall = { tool: '', arguments: {} };
  let script = once;
  let asked = 0;
  let [results, toldAt]: [readonly string[], number | null] = [[], null];
  const mock = new LLMock({ port: 0, host: '127.0.0.1' });
  const wantsCall = (request: ChatCompletionRequest): boolean => {
    const received = resultsIn(request);
    if (received.length > 0) {
      results = received;
      toldAt ??= Date.now();
    }
    const calls = asked < script.times && received.length === asked && offers(request, wanted.tool);
    if (calls) asked += 1;
    return calls;
  };
  mock.on({ predicate: wantsCall }, async () => {
    if (asked > 1) await script.between(asked - 1);
    return { toolCalls: [{ name: wanted.tool, arguments: JSON.stringify(wanted.arguments) }] };
  });
  mock.on({ predicate: () => true }, { content: 'Done.' });
  await mock.start();
  return {
    url: mock.url,
    wants: (call, more = once) => {
      [wanted, script, asked] = [call, more, 0];
      [results, toldAt] = [[], null];
    },
    asked: () => asked > 0,
    told: () => (results.length === 0 ? null : results.join('\n')),
    results: () => results,
    toldAt: () => toldAt,
    close: () => mock.stop(),
  };
}
