import { createOpenAI } from '@ai-sdk/openai';
import { generateText, streamText, type ToolSet, tool } from 'ai';
import { z } from 'zod';
import { type Framework, server, words } from './framework.ts';

export const aiSdk: Framework = {
  name: 'AI SDK',
  tool: 'send',
  handOff: { tool: 'ask_clerk', input: {} },
  async perform({ model, run, send, handsOff, streams, signal, onDenied }) {
    const openai = createOpenAI({ apiKey: 'none', baseURL: `${model.url}/v1` });
    const options = { server, ...(onDenied === undefined ? {} : { onDenied }) };
    const mail = { send: tool({ description: 'Sends mail.', inputSchema: z.object({ to: z.string() }), execute: send }) };
    const limits = {
      prompt: words,
      stopWhen: ({ steps }: { readonly steps: readonly unknown[] }) => steps.length >= 5,
      ...(signal === undefined ? {} : { abortSignal: signal }),
    };
    const clerk = { model: openai.chat('gpt-4o'), tools: run.delegate('clerk').guardTools(mail, options), ...limits };
    const askClerk = tool({
      description: 'Gives the work to the clerk.',
      inputSchema: z.object({}),
      execute: async () => (await generateText(clerk)).text,
    });
    const tools: ToolSet = handsOff === true ? { ask_clerk: askClerk } : run.guardTools(mail, options);
    const agent = { model: openai.chat('gpt-4o'), tools, ...limits };
    if (streams !== true) return (await generateText(agent)).text;
    let text = '';
    for await (const part of streamText(agent).textStream) text += part;
    return text;
  },
};
