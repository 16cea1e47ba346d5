// An agent of Mastra. Lines that end with `// Tollgate` are all that it needs to be governed.
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { connect } from '@tollgate/sidecar';
import { z } from 'zod';

const inputSchema = z.object({ place: z.string() });
const weather = createTool({
  id: 'weather',
  description: 'The weather there.',
  inputSchema,
  execute: async ({ place }) => `sunny in ${place}`,
});
const book = createTool({ id: 'book', description: 'Books a journey.', inputSchema, execute: async ({ place }) => `booked ${place}` });

const gate = await connect({ controlPlane: process.env['TOLLGATE_GRPC'] ?? '127.0.0.1:8081', key: process.env['TOLLGATE_KEY'] ?? '' }); // Tollgate
const run = gate.run({ agent: 'traveller', tier: 'api' }); // Tollgate
const tools = run.guardTools({ weather, book }, { server: 'travel' }); // Tollgate

const url = process.env['OPENAI_BASE_URL'] ?? 'https://api.openai.com/v1';
const model = { id: 'openai/gpt-4o' as const, url, apiKey: process.env['OPENAI_API_KEY'] ?? '' };
const agent = new Agent({ id: 'traveller', name: 'traveller', instructions: 'You plan journeys.', model, tools });
const { text } = await agent.generate('Book a journey to where it is warm.');
console.log(`the agent says: ${text}`);
await gate.close();
