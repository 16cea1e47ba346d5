// Tools that ask the client while they work, as servers of 2025-11-25 do: for a text of its model, or for an answer of
// its user.
import type { ServerContext } from '@modelcontextprotocol/server';
import { type SuiteTool, suiteTool, textResult } from './tool.ts';

type ElicitSchema = Extract<Parameters<ServerContext['mcpReq']['elicitInput']>[0], { requestedSchema: unknown }>['requestedSchema'];

async function elicit({ mcpReq }: ServerContext, message: string, properties: ElicitSchema['properties']) {
  const { action, content = {} } = await mcpReq.elicitInput({
    mode: 'form',
    message,
    requestedSchema: { type: 'object', properties, required: [] },
  });
  return textResult(`action=${action}, content=${JSON.stringify(content)}`);
}

const options = ['option1', 'option2', 'option3'];
const titled = ['First', 'Second', 'Third'].map((title, at) => ({ const: `value${at + 1}`, title: `${title} Option` }));

export const askingTools: readonly SuiteTool[] = [
  suiteTool(
    'test_sampling',
    'Asks for a text of the client’s model',
    async ({ prompt }, { mcpReq }) => {
      const { content } = await mcpReq.requestSampling({
        messages: [{ role: 'user', content: { type: 'text', text: String(prompt) } }],
        maxTokens: 100,
      });
      const [first] = [content].flat();
      return textResult(`LLM response: ${first?.type === 'text' ? first.text : 'none'}`);
    },
    { prompt: { type: 'string' } },
    ['prompt'],
  ),
  suiteTool(
    'test_elicitation',
    'Asks the user',
    ({ message }, context) => elicit(context, String(message), { username: { type: 'string' }, email: { type: 'string' } }),
    { message: { type: 'string' } },
    ['message'],
  ),
  suiteTool('test_elicitation_sep1034_defaults', 'Asks with a default for each type', (_args, context) =>
    elicit(context, 'Please look through the defaults', {
      name: { type: 'string', default: 'John Doe' },
      age: { type: 'integer', default: 30 },
      score: { type: 'number', default: 95.5 },
      status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
      verified: { type: 'boolean', default: true },
    }),
  ),
  suiteTool('test_elicitation_sep1330_enums', 'Asks with each form of a choice', (_args, context) =>
    elicit(context, 'Please choose', {
      untitledSingle: { type: 'string', enum: options },
      titledSingle: { type: 'string', oneOf: titled },
      legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['Option One', 'Option Two', 'Option Three'] },
      untitledMulti: { type: 'array', minItems: 1, maxItems: 3, items: { type: 'string', enum: options } },
      titledMulti: { type: 'array', minItems: 1, maxItems: 3, items: { anyOf: titled } },
    }),
  ),
];
