// The proxy on its own port, in front of the servers of a test: recorded ones with configured answers, or real ones.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { createMcpHandler, type McpHttpHandler, type McpServer } from '@modelcontextprotocol/server';
import { Agent } from 'undici';
import { onTestFinished } from 'vitest';
import type { BodyMemory } from '../../../../sidecar/doors/entrance/body-memory.ts';
import type { ToolServer, ToolServers } from '../../../../sidecar/upstream/upstream.ts';
import type { CallTracing } from '../../../../sidecar/telemetry/tracing.ts';
import type { Asked } from '../../../support/asked.ts';
import { createTestServer, createTestSidecar, type TestSidecar } from '../../../support/governing.ts';
import { keyText, type World } from '../../../support/snapshots.ts';

export const own = keyText('key1');

export interface UpstreamRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface RecordingServer {
  readonly url: string;
  /** Every request that reached it, oldest first. */
  readonly heard: UpstreamRequest[];
  /**
   * The tools that it lists to the proxy, which requests them before a call. These requests are not in `heard`. Null:
   * `answer` answers them.
   */
  tools: readonly object[] | null;
  /** How it answers. By default every request gets an empty result. */
  answer: (heard: UpstreamRequest, response: ServerResponse) => void;
}

export const rpcOf = ({
  body,
}: UpstreamRequest): { readonly id?: string | number; readonly method?: string; readonly params?: Record<string, unknown> } =>
  (body === '' ? {} : JSON.parse(body)) as { id?: string | number };

export function json(response: ServerResponse, body: unknown, status = 200, headers: Record<string, string> = {}): void {
  response
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(typeof body === 'string' ? body : JSON.stringify(body));
}

/** True for a request that the proxy sends for itself. */
const asksProxy = (body: string): boolean => body.includes('"id":"tollgate-');

/** Starts an upstream that records all it receives. */
export async function record(answer?: RecordingServer['answer']): Promise<RecordingServer> {
  const recorded: RecordingServer = {
    url: '',
    heard: [],
    tools: ['a', 'echo'].map((name) => ({ name, inputSchema: { type: 'object' } })),
    answer:
      answer ??
      ((heard, response) => {
        const { id } = rpcOf(heard);
        if (id === undefined) response.writeHead(202).end();
        else json(response, { jsonrpc: '2.0', id, result: {} });
      }),
  };
  const http = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (piece: string) => (body += piece));
    request.on('end', () => {
      const heard = { method: request.method ?? '', url: request.url ?? '', headers: request.headers, body };
      const { id, method } = asksProxy(body) ? rpcOf(heard) : {};
      if (recorded.tools !== null && method === 'tools/list')
        return json(response, { jsonrpc: '2.0', id, result: { tools: recorded.tools } });
      recorded.heard.push(heard);
      return recorded.answer(heard, response);
    });
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  onTestFinished(async () => {
    http.closeAllConnections();
    http.close();
    await once(http, 'close');
  });
  return Object.assign(recorded, { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp` });
}

export interface TestServer {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly admitted?: ReadonlyMap<string, string> | null;
}

export function overHttp(name: string, { url, headers = {}, admitted = null }: TestServer): ToolServer {
  const dispatcher = new Agent();
  onTestFinished(() => dispatcher.destroy());
  return { name, admitted, reach: { kind: 'http', url: new URL(url), headers, agent: async () => dispatcher } };
}

export const serversOf = (...servers: readonly ToolServer[]): ToolServers => ({
  find: (_index, name) => servers.find((server) => server.name === name) ?? null,
});

export interface TestProxy {
  readonly sidecar: TestSidecar;
  readonly bodies: BodyMemory;
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
  readonly port: number;
  readonly lines: readonly string[];
  urlOf(server: string): URL;
  close(): Promise<void>;
  codes(): Promise<readonly string[]>;
}

export async function startProxied(servers: ToolServers, world: World = {}, tracing?: CallTracing, asked?: Asked): Promise<TestProxy> {
  const sidecar = await createTestSidecar({ world, ...asked });
  const { app, entrance, lines } = createTestServer(sidecar, { toolServers: servers, ...(tracing === undefined ? {} : { tracing }) });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  // Clients open connections and send no request on them yet. Such a connection does not count as idle.
  onTestFinished(() => app.server.closeAllConnections());
  return {
    sidecar,
    bodies: entrance.bodies,
    origin,
    port: Number(new URL(origin).port),
    lines,
    close: async () => {
      await app.close();
      await entrance.close();
    },
    urlOf: (server) => new URL(`${origin}/mcp/${server}`),
    codes: async () => (await sidecar.entries()).map(({ hookEvent, tool, code }) => `${hookEvent} ${tool} ${code}`),
  };
}

/** A recorded server, `s`, and the proxy in front of it. */
export interface Behind {
  readonly up: RecordingServer;
  readonly proxied: TestProxy;
}

interface Around extends World {
  readonly asked?: Asked;
  readonly answer?: RecordingServer['answer'];
  readonly admitted?: TestServer['admitted'];
}

export async function behind({ answer, admitted = null, asked, ...world }: Around = {}): Promise<Behind> {
  const up = await record(answer);
  return { up, proxied: await startProxied(serversOf(overHttp('s', { url: up.url, admitted })), world, undefined, asked) };
}

export interface ProxyRequest {
  readonly method?: string;
  readonly path?: string;
  readonly body?: string | Uint8Array | object | null;
  readonly headers?: Readonly<Record<string, string | null>>;
}

export interface Got {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed JSON body. */
  readonly body: {
    readonly id?: unknown;
    readonly result?: Record<string, unknown>;
    readonly error?: { readonly code: number; readonly message: string };
  };
}

/** Sends one request, with the good key by default. */
export async function send(
  { origin }: TestProxy,
  server: string,
  { method = 'POST', path, body = null, headers = {} }: ProxyRequest,
): Promise<Got> {
  const all: Record<string, string | null> = {
    authorization: `Bearer ${own}`,
    accept: 'application/json, text/event-stream',
    ...(body === null ? {} : { 'content-type': 'application/json' }),
    ...headers,
  };
  const response = await fetch(`${origin}${path ?? `/mcp/${server}`}`, {
    method,
    redirect: 'manual',
    headers: Object.entries(all).flatMap(([name, value]): [string, string][] => (value === null ? [] : [[name, value]])),
    ...(body === null ? {} : { body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true && text !== '';
  return { status: response.status, headers: response.headers, text, body: isJson ? (JSON.parse(text) as Got['body']) : {} };
}

/** Sends raw bytes on a separate connection. Returns what came back until the server closed it or stopped sending. */
export async function sendRaw({ port }: TestProxy, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let back = '';
  socket.setEncoding('utf8');
  socket.on('data', (piece: string) => {
    back += piece;
    socket.end();
  });
  socket.on('error', () => undefined);
  socket.write(text);
  await once(socket, 'close');
  return back;
}

export const call = (name: string, args?: object, id: string | number = 1): object => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, ...(args === undefined ? {} : { arguments: args }) },
});

export const metaOf = (fields: object = {}): object => ({
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'tester', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
  ...fields,
});

export const modernHeaders = (method: string, name?: string): Record<string, string> => ({
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': method,
  ...(name === undefined ? {} : { 'mcp-name': name }),
});

export const modernCall = (name: string, args?: object, id: string | number = 1): object => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, ...(args === undefined ? {} : { arguments: args }), _meta: metaOf() },
});

/** Starts a server of the SDK, in both revisions, on its own port. */
export async function startSdkServer(make: () => McpServer): Promise<{ readonly url: string; readonly handler: McpHttpHandler }> {
  const handler = createMcpHandler(make, { onerror: () => undefined });
  const http = createServer((request, response) => void serve(request, response));
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const headers = new Headers(
      Object.entries(request.headersDistinct).flatMap(([name, values]) => (values ?? []).map((value): [string, string] => [name, value])),
    );
    const answer = await handler.fetch(
      new Request(`http://127.0.0.1${request.url}`, {
        method: request.method ?? 'GET',
        headers,
        signal: gone.signal,
        ...(pieces.length === 0 ? {} : { body: Buffer.concat(pieces) }),
      }),
    );
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body !== null) for await (const piece of answer.body) response.write(piece);
    response.end();
  }
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  onTestFinished(async () => {
    await handler.close();
    http.closeAllConnections();
    http.close();
    await once(http, 'close');
  });
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`, handler };
}
