// A small HTTPS server: what it answers is JSON. A new certificate is for the connections that come; those that are there,
// and the requests on them, go on.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { AppError } from '@tollgate/proto/contract';
import type { Pair } from './x509/certificate.ts';

export interface Reply {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface HttpsServer {
  readonly port: number;
  readonly use: (pair: Pair) => void;
  /** Requests under way may take so long; then they are cut. */
  readonly close: (ms: number) => Promise<void>;
}

interface Bounds {
  /** Of a request, from its first byte to the last of its body. */
  readonly requestMs: number;
  /** Of a connection without a request. */
  readonly idleMs: number;
  readonly connections: number;
}

interface Listening {
  readonly host: string;
  readonly port: number;
  readonly bounds: Bounds;
}

/** `answer` never rejects. */
export async function startHttpsServer(
  answer: (request: IncomingMessage) => Promise<Reply>,
  { host, port, bounds }: Listening,
  pair: Pair,
): Promise<HttpsServer> {
  const { requestMs, idleMs, connections } = bounds;
  const server = createServer(
    {
      ...contextOf(pair),
      requestTimeout: requestMs,
      headersTimeout: requestMs / 2,
      // How often the two are looked at; half a minute otherwise.
      connectionsCheckingInterval: requestMs / 2,
      keepAliveTimeout: idleMs,
      handshakeTimeout: requestMs,
    },
    (request, response) => void answer(request).then((reply) => send(response, reply)),
  );
  server.maxConnections = connections;
  await new Promise<void>((done, fail) => {
    server.once('error', fail);
    server.listen(port, host, () => {
      server.off('error', fail);
      done();
    });
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    use: (next) => server.setSecureContext(contextOf(next)),
    close: (ms) => close(server, ms),
  };
}

const contextOf = ({ certificate, key }: Pair) => ({ cert: certificate, key, minVersion: 'TLSv1.2' as const });

async function close(server: Server, ms: number): Promise<void> {
  const timer = setTimeout(() => server.closeAllConnections(), ms);
  const closed = new Promise<void>((done) => server.close(() => done()));
  server.closeIdleConnections();
  await closed;
  clearTimeout(timer);
}

function send(response: ServerResponse, { status, body, headers = {} }: Reply): void {
  const bytes = Buffer.from(JSON.stringify(body));
  // What was not read to its end is not read on.
  const more = status === 413 || status === 503 ? { connection: 'close' } : {};
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': bytes.length, ...headers, ...more }).end(bytes);
}

export const isJson = ({ headers }: IncomingMessage): boolean => /^application\/json(?:\s*;|$)/i.test(headers['content-type'] ?? '');

/** Memory for the bodies that a server reads at the same time. */
export interface Room {
  /** False: there is none left. */
  take(bytes: number): boolean;
  leave(bytes: number): void;
}

export function createRoom(bytesMax: number): Room {
  let taken = 0;
  return {
    take: (bytes) => {
      taken += bytes;
      return taken <= bytesMax;
    },
    leave: (bytes) => void (taken -= bytes),
  };
}

/** Small enough for every connection to hold one. */
const smallBytes = 65_536;

/** Null: it is larger than that. A large one is refused where others leave it no room. */
export async function readBody(request: IncomingMessage, bytesMax: number, room: Room | null = null): Promise<string | null> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) return null;
  try {
    for await (const piece of request as AsyncIterable<Buffer>) {
      bytes += piece.length;
      const hasRoom = room?.take(piece.length) ?? true;
      if (bytes > bytesMax) return null;
      if (!hasRoom && bytes > smallBytes) throw noRoom();
      pieces.push(piece);
    }
    return Buffer.concat(pieces).toString('utf8');
  } catch (error) {
    // Who hangs up is nothing to look into.
    throw request.complete || error instanceof AppError ? error : endedEarly();
  } finally {
    room?.leave(bytes);
  }
}

const noRoom = (): AppError =>
  new AppError({ code: 'unavailable', publicMessage: 'there is no room for so large a body now; try again', retryAfterSeconds: 1 });

const endedEarly = (): AppError => new AppError({ code: 'bad_request', publicMessage: 'the body ended early' });
