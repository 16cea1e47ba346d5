// Shows the official MCP client: `guardTools` returns a client with the same interface. The list of this client shows
// only tools that the policy permits. Its calls are decided, and a denial is a result that the model can read.
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { connect, denialKey } from '@tollgate/sidecar';
import { addRules, grpc, key } from '../plane.ts';

await addRules({
  'everything.get-env': { api: { permission: 'deny' } },
  'everything.echo': { api: { transform: 'redact' } },
});

const program = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));
const client = new Client({ name: 'example', version: '1.0.0' });
await client.connect(new StdioClientTransport({ command: process.execPath, args: [program, 'stdio'], stderr: 'ignore' }));

const gate = await connect({ controlPlane: grpc, key });
const guarded = gate.run({ agent: 'reader', tier: 'api' }).guardTools(client, { server: 'everything' });

const { tools } = await client.listTools();
const shown = (await guarded.listTools()).tools;
console.log(
  'hidden:',
  tools
    .map(({ name }) => name)
    .filter((name) => !shown.some((one) => one.name === name))
    .join(', '),
);
const echoed = await guarded.callTool({ name: 'echo', arguments: { message: 'for ada@acme-mail.eu' } });
console.log('echo:', JSON.stringify(echoed.content));
const denied = await guarded.callTool({ name: 'get-env', arguments: {} });
console.log('get-env:', denied.isError, JSON.stringify(denied._meta?.[denialKey]));
await client.close();
await gate.close();
