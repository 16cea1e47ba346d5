// Shows any MCP client with any MCP server: the sidecar is between the two, at /mcp/<server>. The client needs only
// another URL and a key.
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { addRules, key } from '../plane.ts';
import { startSidecar } from '../sidecar.ts';

await addRules({
  'everything.get-env': { interactive: { permission: 'deny' } },
  'everything.echo': { interactive: { transform: 'redact' } },
  'everything.get-sum': { interactive: { rateLimit: 1 } },
});

const program = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));
const sidecar = await startSidecar({ mcpServers: { everything: { command: process.execPath, args: [program, 'stdio'] } } });
const client = new Client({ name: 'example', version: '1.0.0' });
const headers = { authorization: `Bearer ${key}`, 'x-tollgate-agent': 'reader' };
await client.connect(new StreamableHTTPClientTransport(new URL('/mcp/everything', sidecar.url), { requestInit: { headers } }));

const { tools } = await client.listTools();
console.log(
  'get-env is listed:',
  tools.some(({ name }) => name === 'get-env'),
);
const echoed = await client.callTool({ name: 'echo', arguments: { message: 'for ada@acme-mail.eu' } });
console.log('echo:', JSON.stringify(echoed.content));
for (const b of [2, 3]) {
  const sum = await client.callTool({ name: 'get-sum', arguments: { a: 1, b } });
  console.log('get-sum:', sum.isError === true ? 'denied' : 'answered', JSON.stringify(sum.content));
}
await client.close();
await sidecar.stop();
