// A model of all providers on loopback, simulated by aimock. When an agent that offers the tool asks, the model
// requests one call; once a request brings the result, it ends the turn. The received result is kept: it is what the
// agent's model knows.
import { type ChatCompletionRequest, type ChatMessage, LLMock } from '@copilotkit/aimock';

export interface ScriptedModel {
  readonly url: string;
  /** From now on it requests this call, and has received no result. */
  wants(call: WantedCall): void;
  /** Whether it has requested the call. */
  asked(): boolean;
  /** The result of the call that it received; null: none. */
  told(): string | null;
}

export interface WantedCall {
  /** The name under which the agent offers the tool to its model. */
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

const textIn = ({ content }: ChatMessage): string =>
  typeof content === 'string' ? content : (content ?? []).map(({ text }) => text ?? '').join('\n');

const resultIn = ({ messages }: ChatCompletionRequest): string | null => {
  const results = messages.filter(({ role }) => role === 'tool');
  return results.length === 0 ? null : results.map(textIn).join('\n');
};

const offers = ({ tools = [] }: ChatCompletionRequest, name: string): boolean => tools.some((tool) => tool.function.name === name);

export async function startModel(): Promise<ScriptedModel & { close(): Promise<void> }> {
  let wanted: WantedCall = { tool: '', arguments: {} };
  let [asked, told]: [boolean, string | null] = [false, null];
  const mock = new LLMock({ port: 0, host: '127.0.0.1' });
  const wantsCall = (request: ChatCompletionRequest): boolean => {
    const result = resultIn(request);
    if (result !== null) told = result;
    const calls = !asked && result === null && offers(request, wanted.tool);
    asked ||= calls;
    return calls;
  };
  mock.on({ predicate: wantsCall }, () => ({ toolCalls: [{ name: wanted.tool, arguments: JSON.stringify(wanted.arguments) }] }));
  mock.on({ predicate: () => true }, { content: 'Done.' });
  await mock.start();
  return {
    url: mock.url,
    wants: (call) => {
      [wanted, asked, told] = [call, false, null];
    },
    asked: () => asked,
    told: () => told,
    close: () => mock.stop(),
  };
}
