// MCP servers to register: the protocol's own demonstration server as a process, and a small one in this process that
// answers what a test sets.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export const everything = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));

async function freePort(): Promise<number> {
  const server = createTcpServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** The demonstration server over Streamable HTTP. */
export async function startEverything(): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  const port = await freePort();
  const child: ChildProcess = spawn(process.execPath, [everything, 'streamableHttp'], {
    env: { PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  if (child.stderr === null) throw new Error('no standard error');
  for await (const line of createInterface({ input: child.stderr })) if (line.includes('listening')) break;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    close: async () => {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}

export interface McpServerRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly rpc: {
    readonly id?: number;
    readonly method?: string;
    readonly params?: { readonly cursor?: string; readonly name?: string; readonly arguments?: Readonly<Record<string, unknown>> };
  };
}

export interface FakeServer {
  readonly url: string;
  readonly port: number;
  /** All requests that it received, oldest first. */
  readonly asked: McpServerRequest[];
  /** How many connections it accepted, with or without a request. */
  connections: number;
  /** Whether it uses the newest protocol, which has no handshake. */
  modern: boolean;
  /** What it lists, page by page. */
  pages: readonly (readonly unknown[])[];
  /** Where it returns true, it has answered instead of the server. */
  instead: (asked: McpServerRequest, response: ServerResponse) => boolean;
  close(): Promise<void>;
}

export const tool = (name: string, more: object = {}): object => ({
  name,
  description: `does ${name}`,
  inputSchema: { type: 'object' },
  ...more,
});

/** It behaves correctly until the test changes it. */
export async function startFakeServer(): Promise<FakeServer> {
  const http = createServer((request, response) => void answer(request, response));
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const { port } = http.address() as AddressInfo;
  const fake: FakeServer = {
    url: `http://127.0.0.1:${port}/mcp`,
    port,
    asked: [],
    connections: 0,
    modern: false,
    pages: [],
    instead: () => false,
    close: async () => {
      http.closeAllConnections();
      http.close();
      await once(http, 'close');
    },
  };

  http.on('connection', () => {
    fake.connections += 1;
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    const asked: McpServerRequest = {
      method: request.method ?? '',
      url: request.url ?? '',
      headers: request.headers,
      rpc: (text === '' ? {} : JSON.parse(text)) as McpServerRequest['rpc'],
    };
    fake.asked.push(asked);
    if (fake.instead(asked, response)) return;
    const { id, method, params } = asked.rpc;
    if (asked.method !== 'POST') return void response.writeHead(405).end();
    if (id === undefined) return void response.writeHead(202).end();
    const result = resultOf(method ?? '', Number(params?.cursor ?? 0));
    const body = result === null ? { error: { code: -32601, message: 'no such method' } } : { result };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, ...body }));
  }

  function resultOf(method: string, page: number): object | null {
    if (fake.modern && method === 'initialize') return null;
    if (fake.modern && method === 'server/discover')
      return {
        resultType: 'complete',
        supportedVersions: ['2026-07-28'],
        capabilities: { tools: {} },
        serverInfo: { name: 'fake', version: '1' },
        ttlMs: 0,
        cacheScope: 'private',
      };
    switch (method) {
      case 'initialize':
        return { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'fake', version: '1' } };
      case 'tools/list':
        return {
          ...(fake.modern ? { resultType: 'complete', ttlMs: 0, cacheScope: 'private' } : {}),
          tools: fake.pages[page] ?? [],
          ...(page + 1 < fake.pages.length ? { nextCursor: String(page + 1) } : {}),
        };
      default:
        return null;
    }
  }
  return fake;
}
