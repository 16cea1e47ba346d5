// The prompts that the suite asks for.
import {
  type GetPromptResult,
  inputRequired,
  type InputRequiredResult,
  type Prompt,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { image } from './media.ts';

interface SuitePrompt {
  readonly definition: Prompt;
  readonly get: (args: Readonly<Record<string, string>>, context: ServerContext) => GetPromptResult | InputRequiredResult;
}

type Content = GetPromptResult['messages'][number]['content'];
const messages = (...contents: readonly Content[]): GetPromptResult => ({
  messages: contents.map((content) => ({ role: 'user', content })),
});
const text = (words: string): Content => ({ type: 'text', text: words });
const argument = (name: string) => ({ name, required: true });

export const prompts: readonly SuitePrompt[] = [
  {
    definition: { name: 'test_simple_prompt', description: 'Without arguments' },
    get: () => messages(text('This is a simple prompt for testing.')),
  },
  {
    definition: { name: 'test_prompt_with_arguments', description: 'With two', arguments: [argument('arg1'), argument('arg2')] },
    get: ({ arg1, arg2 }) => messages(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  },
  {
    definition: { name: 'test_prompt_with_embedded_resource', description: 'With a resource', arguments: [argument('resourceUri')] },
    get: ({ resourceUri = '' }) =>
      messages(
        { type: 'resource', resource: { uri: resourceUri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' } },
        text('Please read it.'),
      ),
  },
  {
    definition: { name: 'test_prompt_with_image', description: 'With an image' },
    get: () => messages({ type: 'image', ...image }, text('Please look at it.')),
  },
  {
    definition: { name: 'test_input_required_result_prompt', description: 'Needs a context' },
    get: (_args, { mcpReq }) => {
      const answer = mcpReq.inputResponses?.['user_context'];
      if (answer !== undefined) return messages(text(`In the context of ${JSON.stringify(answer)}`));
      const requestedSchema = { type: 'object' as const, properties: { context: { type: 'string' as const } }, required: ['context'] };
      const ask = inputRequired.elicit({ mode: 'form', message: 'In which context?', requestedSchema });
      return inputRequired({ inputRequests: { user_context: ask } });
    },
  },
];
