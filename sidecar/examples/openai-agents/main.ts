// An agent of the OpenAI Agents SDK. Lines that end with `// Tollgate` are all that it needs to be governed.
import { Agent, run as runAgent, setDefaultOpenAIClient, tool } from '@openai/agents';
import { connect } from '@tollgate/sidecar';
import OpenAI from 'openai';
import { z } from 'zod';

const place = z.object({ place: z.string() });
const weather = tool({
  name: 'weather',
  description: 'The weather there.',
  parameters: place,
  execute: ({ place: at }) => `sunny in ${at}`,
});
const book = tool({ name: 'book', description: 'Books a journey.', parameters: place, execute: ({ place: to }) => `booked ${to}` });

const gate = await connect({ controlPlane: process.env['TOLLGATE_GRPC'] ?? '127.0.0.1:8081', key: process.env['TOLLGATE_KEY'] ?? '' }); // Tollgate
const run = gate.run({ agent: 'traveller', tier: 'api' }); // Tollgate
const tools = run.guardTools([weather, book], { server: 'travel' }); // Tollgate

setDefaultOpenAIClient(new OpenAI());
const agent = new Agent({ name: 'traveller', model: 'gpt-5', tools });
const { finalOutput } = await runAgent(agent, 'Book a journey to where it is warm.');
console.log(`the agent says: ${finalOutput}`);
await gate.close();
