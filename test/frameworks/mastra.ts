import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';
import { type Framework, server, words } from './framework.ts';

export const mastra: Framework = {
  name: 'Mastra',
  tool: 'send',
  handOff: { tool: 'agent-clerk', input: { prompt: words } },
  async perform({ model, run, send, handsOff, streams, signal, onDenied }) {
    const options = { server, ...(onDenied === undefined ? {} : { onDenied }) };
    const mail = {
      send: createTool({
        id: 'send',
        description: 'Sends mail.',
        inputSchema: z.object({ to: z.string() }),
        execute: async (input) => send(input),
      }),
    };
    const base = { instructions: 'You write mail.', model: { id: 'custom/gpt-4o' as const, url: `${model.url}/v1`, apiKey: 'none' } };
    const clerk = new Agent({
      ...base,
      id: 'clerk',
      name: 'clerk',
      description: 'Writes mail.',
      tools: run.delegate('clerk').guardTools(mail, options),
    });
    const agent = new Agent({
      ...base,
      id: 'assistant',
      name: 'assistant',
      ...(handsOff === true ? { agents: { clerk } } : { tools: run.guardTools(mail, options) }),
    });
    const limits = { maxSteps: 5, ...(signal === undefined ? {} : { abortSignal: signal }) };
    if (streams !== true) return (await agent.generate(words, limits)).text;
    const stream = await agent.stream(words, limits);
    let text = '';
    for await (const part of stream.textStream) text += part;
    return text;
  },
};
