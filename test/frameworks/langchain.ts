import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { createAgent, toolRetryMiddleware } from 'langchain';
import { z } from 'zod';
import { type Framework, server, words } from './framework.ts';

const messages = [{ role: 'user' as const, content: words }];

export const langchain: Framework = {
  name: 'LangChain.js',
  tool: 'send',
  handOff: { tool: 'ask_clerk', input: {} },
  retries: true,
  async perform({ model, run, send, handsOff, streams, signal, retries, onDenied }) {
    const llm = new ChatOpenAI({ model: 'gpt-4o', apiKey: 'none', configuration: { baseURL: `${model.url}/v1` } });
    const options = { server, ...(onDenied === undefined ? {} : { onDenied }) };
    const mail = tool(send, { name: 'send', description: 'Sends mail.', schema: z.object({ to: z.string() }) });
    const middleware = retries === undefined ? [] : [toolRetryMiddleware({ maxRetries: retries, initialDelayMs: 0, jitter: false })];
    const limits = signal === undefined ? {} : { signal };
    const clerk = createAgent({ model: llm, tools: run.delegate('clerk').guardTools([mail], options) });
    const askClerk = tool(async () => String((await clerk.invoke({ messages }, limits)).messages.at(-1)?.content), {
      name: 'ask_clerk',
      description: 'Gives the work to the clerk.',
      schema: z.object({}),
    });
    const agent = createAgent({ model: llm, middleware, tools: handsOff === true ? [askClerk] : run.guardTools([mail], options) });
    if (streams !== true) return String((await agent.invoke({ messages }, limits)).messages.at(-1)?.content);
    let text = '';
    for await (const [message] of await agent.stream({ messages }, { ...limits, streamMode: 'messages' }))
      if (message.type === 'ai') text += String(message.content);
    return text;
  },
};
