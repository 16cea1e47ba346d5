import { Agent, OpenAIProvider, Runner, tool } from '@openai/agents';
import { z } from 'zod';
import { type Framework, server, words } from './framework.ts';

export const openaiAgents: Framework = {
  name: 'OpenAI Agents SDK',
  tool: 'send',
  handOff: { tool: 'transfer_to_clerk', input: {} },
  throws: true,
  async perform({ model, run, send, handsOff, streams, signal, onDenied }) {
    const runner = new Runner({ modelProvider: new OpenAIProvider({ apiKey: 'none', baseURL: `${model.url}/v1` }), tracingDisabled: true });
    const options = { server, ...(onDenied === undefined ? {} : { onDenied }) };
    const mail = tool({ name: 'send', description: 'Sends mail.', parameters: z.object({ to: z.string() }), execute: send });
    const clerk = new Agent({ name: 'clerk', model: 'gpt-5', tools: run.delegate('clerk').guardTools([mail], options) });
    const agent =
      handsOff === true
        ? Agent.create({ name: 'assistant', model: 'gpt-5', handoffs: [clerk] })
        : new Agent({ name: 'assistant', model: 'gpt-5', tools: run.guardTools([mail], options) });
    const limits = signal === undefined ? {} : { signal };
    if (streams !== true) return (await runner.run(agent, words, limits)).finalOutput ?? '';
    const result = await runner.run(agent, words, { ...limits, stream: true });
    let text = '';
    for await (const part of result.toTextStream()) text += part;
    await result.completed;
    return text;
  },
};
