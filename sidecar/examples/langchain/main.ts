// An agent of LangChain.js. Lines that end with `// Tollgate` are all that it needs to be governed.
import { connect } from '@tollgate/sidecar';
import { createAgent, tool } from 'langchain';
import { z } from 'zod';

const schema = z.object({ place: z.string() });
const weather = tool(({ place }) => `sunny in ${place}`, { name: 'weather', description: 'The weather there.', schema });
const book = tool(({ place }) => `booked ${place}`, { name: 'book', description: 'Books a journey.', schema });

const gate = await connect({ controlPlane: process.env['TOLLGATE_GRPC'] ?? '127.0.0.1:8081', key: process.env['TOLLGATE_KEY'] ?? '' }); // Tollgate
const run = gate.run({ agent: 'traveller', tier: 'api' }); // Tollgate
const tools = run.guardTools([weather, book], { server: 'travel' }); // Tollgate

const agent = createAgent({ model: 'openai:gpt-4o', tools });
const { messages } = await agent.invoke({ messages: [{ role: 'user', content: 'Book a journey to where it is warm.' }] });
console.log(`the agent says: ${messages.at(-1)?.text}`);
await gate.close();
