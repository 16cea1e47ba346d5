// A tool server for flood.ts, behind the MCP proxy of the sidecar: it gives each caller a session, has one tool, and
// answers every tenth call a second late. It prints its port.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setPriority } from 'node:os';

const lateMs = 1_000;
let sessions = 0;
let calls = 0;

function answer(response: ServerResponse, id: unknown, result: object, headers: Readonly<Record<string, string>> = {}): void {
  response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
}

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (piece: string) => (body += piece));
  request.on('error', () => undefined);
  request.on('end', () => {
    const { id, method, params } = body === '' ? {} : JSON.parse(body);
    switch (method) {
      case 'initialize': {
        const result = { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'far', version: '1' } };
        return answer(response, id, result, { 'mcp-session-id': `m${(sessions += 1)}` });
      }
      case 'tools/list':
        return answer(response, id, { tools: [{ name: 'look', inputSchema: { type: 'object' } }] });
      case 'tools/call':
        calls += 1;
        setTimeout(() => answer(response, id, { content: [] }), calls % 10 === 0 ? lateMs : 0);
        return;
      default:
        response.writeHead(202).end();
    }
  });
});
setPriority(19);
server.listen(0, '127.0.0.1', () => process.stdout.write(`  port  ${(server.address() as AddressInfo).port}\n`));
