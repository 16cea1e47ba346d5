// Shows the AI SDK: `guardTools` returns the same tools, and Tollgate decides each call. The model is scripted, so that
// no provider's key is needed. Any other model works too.
import { connect } from '@tollgate/sidecar';
import { generateText, jsonSchema, stepCountIs, tool } from 'ai';
import { createScriptedModel } from '../demo/model.ts';
import { addRules, grpc, key } from '../plane.ts';

await addRules({
  'travel.book': { api: { permission: 'deny' } },
  'travel.weather': { api: { permission: 'allow' } },
});

const place = jsonSchema<{ place: string }>({ type: 'object', properties: { place: { type: 'string' } }, required: ['place'] });
const tools = {
  weather: tool({ description: 'The weather there.', inputSchema: place, execute: async ({ place: at }) => `sunny in ${at}` }),
  book: tool({ description: 'Books a journey.', inputSchema: place, execute: async ({ place: to }) => `booked ${to}` }),
};

const model = createScriptedModel('traveller', (heard) => {
  const [weather, booking] = heard;
  if (weather === undefined) return { call: 'weather', input: { place: 'Lisbon' } };
  if (booking === undefined) return { call: 'book', input: { place: 'Lisbon' } };
  return { say: `${weather.text}; ${booking.text}` };
});

const gate = await connect({ controlPlane: grpc, key });
const run = gate.run({ agent: 'traveller', tier: 'api', client: { name: 'ai-sdk' } });
const { text, steps } = await generateText({
  model,
  prompt: 'Go where it is warm.',
  tools: run.guardTools(tools, { server: 'travel' }),
  stopWhen: stepCountIs(5),
  prepareStep: () => {
    run.round();
    return {};
  },
});
console.log(`rounds: ${steps.length}`);
console.log(`the agent says: ${text}`);
await gate.close();
