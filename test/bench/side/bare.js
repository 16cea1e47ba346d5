// The programs that the sidecar is compared with, plain JavaScript as users have it: `upstream`, a minimal HTTP service
// and MCP server of both revisions, which answers JSON at /mcp and an event stream at /mcp-stream; `proxy`, a bare
// @fastify/http-proxy to the given address; `hooks`, a bare fastify route.
import { createServer } from 'node:http';
import httpProxy from '@fastify/http-proxy';
import { fastify } from 'fastify';

const [role, argument = ''] = process.argv.slice(2);

const newest = '2026-07-28';
const tools = [{ name: 'tool_7', description: 'Reads a report', inputSchema: { type: 'object' } }];

function mcpResult({ method, params }) {
  const isNew = params?._meta?.['io.modelcontextprotocol/protocolVersion'] === newest;
  const complete = isNew ? { resultType: 'complete' } : {};
  switch (method) {
    case 'initialize':
      return { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'upstream', version: '1.0' } };
    case 'tools/list':
      return { ...complete, tools, ...(isNew ? { ttlMs: 60_000, cacheScope: 'public' } : {}) };
    default:
      return { ...complete, content: [{ type: 'text', text: 'ok' }] };
  }
}

function answer(path, body) {
  if (!path.startsWith('/mcp')) return { ok: true, id: 'order-1', note: 'stored' };
  const message = JSON.parse(body);
  return message.id === undefined ? null : { jsonrpc: '2.0', id: message.id, result: mcpResult(message) };
}

function listenUpstream() {
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text) => {
      body += text;
    });
    request.on('end', () => {
      const said = answer(request.url, body);
      if (said === null) return void response.writeHead(202).end();
      const text = JSON.stringify(said);
      // The same form of answer as servers built with the official SDK.
      if (request.url === '/mcp-stream')
        return void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`event: message\ndata: ${text}\n\n`);
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }).end(text);
    });
  });
  server.keepAliveTimeout = 600_000;
  return new Promise((done) => server.listen(0, '127.0.0.1', () => done(server.address().port)));
}

async function listenApp() {
  const app = fastify({ keepAliveTimeout: 600_000 });
  if (role === 'proxy') await app.register(httpProxy, { upstream: argument });
  else app.post('/govern/tool-use', async () => ({ decision: 'allow', reason: 'allowed: no rule denies it', request_id: '0'.repeat(36) }));
  return Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port);
}

process.stdout.write(`  port  ${role === 'upstream' ? await listenUpstream() : await listenApp()}\n`);
process.once('SIGTERM', () => process.exit(0));
