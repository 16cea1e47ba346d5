// A tool's server that records what reached it, a listening sidecar in front of it, and functions that send raw bytes
// to the sidecar.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { onTestFinished } from 'vitest';
import type { HttpTool } from '../../../../sidecar/upstream/http-tool-definition.ts';
import type { CallTracing } from '../../../../sidecar/telemetry/tracing.ts';
import type { Asked } from '../../../support/asked.ts';
import { createTestServer, createTestSidecar } from '../../../support/governing.ts';
import { keyText, type World } from '../../../support/snapshots.ts';

export const own = keyText('key1');

interface ServerRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export type Answering = (request: IncomingMessage, response: ServerResponse, reached: ServerRequest) => void;

const echo: Answering = (_request, response) => void response.setHeader('content-type', 'application/json').end('{"ok":true}');

async function startUpstream(answer: Answering = echo) {
  const reached: ServerRequest[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => {});
    request.on('end', () => {
      const one = {
        method: request.method ?? '',
        url: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
      };
      reached.push(one);
      answer(request, response, one);
    });
  });
  // Requests that are not plain HTTP requests reach the server too, and are recorded.
  for (const event of ['upgrade', 'connect'] as const)
    server.on(event, (request: IncomingMessage, socket) => {
      reached.push({ method: event, url: request.url ?? '', headers: request.headers, body: '' });
      socket.destroy();
    });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { reached, server, origin: `http://127.0.0.1:${port}` };
}

export interface Options {
  readonly world?: World | null;
  readonly answer?: Answering;
  readonly tool?: Partial<HttpTool>;
  readonly keepInput?: boolean;
  readonly tracing?: CallTracing;
  readonly asked?: Asked;
}

export async function startTool({ world = {}, answer, tool = {}, keepInput = true, tracing, asked }: Options = {}) {
  const upstream = await startUpstream(answer);
  const sidecar = await createTestSidecar({ world, keepInput, ...asked });
  const billing: HttpTool = {
    origin: upstream.origin,
    basePath: '/api',
    headers: { 'x-api-key': 'ours' },
    forwardHeaders: [],
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
    nameByMethod: false,
    timeoutMs: 5_000,
    ...tool,
  };
  const { app, lines } = createTestServer(sidecar, {
    httpTools: new Map([['billing', billing]]),
    ...(tracing === undefined ? {} : { tracing }),
  });
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  const port = Number(new URL(address).port);
  return {
    ...upstream,
    sidecar,
    app,
    lines,
    port,
    ask: (asked: HttpQuestion = {}) => ask(port, asked),
    send: (bytes: string | Buffer) => send(port, bytes),
  };
}

export interface HttpQuestion {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Sends a request with Node's client, with the key. */
function ask(port: number, { method = 'POST', path = '/tools/billing/invoices', headers = {}, body }: HttpQuestion): Promise<HttpAnswer> {
  return new Promise((done, fail) => {
    const request = httpRequest({
      port,
      host: '127.0.0.1',
      method,
      path,
      headers: { authorization: `Bearer ${own}`, ...headers },
      agent: false,
    });
    request.on('error', fail);
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', fail);
      response.on('end', () =>
        done({ status: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(chunks).toString() }),
      );
    });
    request.end(body);
  });
}

/**
 * Returns what comes back for these bytes until the server closes. The server treats a half-closed connection as a
 * caller that has left.
 */
function send(port: number, bytes: string | Buffer): Promise<string> {
  return new Promise((done) => {
    const socket = connect(port, '127.0.0.1');
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', () => {});
    socket.on('close', () => done(Buffer.concat(chunks).toString('latin1')));
    socket.write(bytes);
  });
}

/** Builds a request as bytes, with the key, for a connection of its own. */
export const raw = (line: string, headers: readonly string[] = [], body = ''): string =>
  [`${line} HTTP/1.1`, 'Host: gate', `Authorization: Bearer ${own}`, 'Connection: close', ...headers, '', body].join('\r\n');
