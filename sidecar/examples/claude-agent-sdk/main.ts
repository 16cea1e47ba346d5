// An agent of the Claude Agent SDK. Lines that end with `// Tollgate` are all that it needs to be governed.
import { createSdkMcpServer, query, tool } from '@anthropic-ai/claude-agent-sdk';
import { connect } from '@tollgate/sidecar';
import { z } from 'zod';

const place = { place: z.string() };
const said = (text: string) => ({ content: [{ type: 'text' as const, text }] });
const weather = tool('weather', 'The weather there.', place, async ({ place: at }) => said(`sunny in ${at}`));
const book = tool('book', 'Books a journey.', place, async ({ place: to }) => said(`booked ${to}`));

const gate = await connect({ controlPlane: process.env['TOLLGATE_GRPC'] ?? '127.0.0.1:8081', key: process.env['TOLLGATE_KEY'] ?? '' }); // Tollgate
const run = gate.run({ agent: 'traveller', tier: 'api' }); // Tollgate
const hooks = run.claudeHooks(); // Tollgate

const options = {
  hooks,
  mcpServers: { travel: createSdkMcpServer({ name: 'travel', tools: [weather, book] }) },
  allowedTools: ['mcp__travel__weather', 'mcp__travel__book'],
};
for await (const message of query({ prompt: 'Book a journey to where it is warm.', options }))
  if (message.type === 'result' && message.subtype === 'success') console.log(`the agent says: ${message.result}`);
await gate.close();
