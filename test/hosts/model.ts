// A model of all providers on loopback, played by aimock. Asked by an agent that offers a shell, it wants one command run; once the request
// brings that command's result, it ends the turn. What it was told of the result is kept: that is what the agent's model knows.
import { type ChatCompletionRequest, type ChatMessage, LLMock } from '@copilotkit/aimock';

export interface ScriptedModel {
  readonly url: string;
  /** From now on it wants this command run, and has been told nothing. */
  wants(command: string): void;
  /** Whether it has asked for the command. */
  asked(): boolean;
  /** What reached it as the command's result, the last word of it; null: nothing did. */
  told(): string | null;
}

export interface Shell {
  /** The name under which the agent offers it to its model. */
  readonly tool: string;
  readonly argumentsOf: (command: string) => Readonly<Record<string, unknown>>;
}

const textIn = ({ content }: ChatMessage): string =>
  typeof content === 'string' ? content : (content ?? []).map(({ text }) => text ?? '').join('\n');

const resultIn = ({ messages }: ChatCompletionRequest): string | null => {
  const results = messages.filter(({ role }) => role === 'tool');
  return results.length === 0 ? null : results.map(textIn).join('\n');
};

const offers = ({ tools = [] }: ChatCompletionRequest, name: string): boolean => tools.some((tool) => tool.function.name === name);

export async function startModel({ tool, argumentsOf }: Shell): Promise<ScriptedModel & { close(): Promise<void> }> {
  let [command, asked, told]: [string, boolean, string | null] = ['', false, null];
  const mock = new LLMock({ port: 0, host: '127.0.0.1' });
  const wantsCall = (request: ChatCompletionRequest): boolean => {
    const result = resultIn(request);
    if (result !== null) told = result;
    const calls = !asked && result === null && offers(request, tool);
    asked ||= calls;
    return calls;
  };
  mock.on({ predicate: wantsCall }, () => ({ toolCalls: [{ name: tool, arguments: JSON.stringify(argumentsOf(command)) }] }));
  mock.on({ predicate: () => true }, { content: 'Done.' });
  await mock.start();
  return {
    url: mock.url,
    wants: (next) => {
      [command, asked, told] = [next, false, null];
    },
    asked: () => asked,
    told: () => told,
    close: () => mock.stop(),
  };
}
