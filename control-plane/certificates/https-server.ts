// A small HTTPS server that answers with JSON. A new certificate applies to new connections only; existing connections
// and their requests continue. Any client can reach the server. Therefore each network can use only a part of the
// connections, and a connection that sends no request is closed.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { Socket } from 'node:net';
import { AppError } from '@tollgate/proto/contract';
import { networkOf } from '../base/network.ts';
import { contextOf } from '../base/secure-context.ts';
import { createSeats } from '../base/turns.ts';
import { noteRefused } from '../base/refused-connections.ts';
import type { Pair } from './x509/certificate.ts';

export interface Reply {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface HttpsServer {
  readonly port: number;
  readonly use: (pair: Pair) => void;
  /** Waits up to `ms` for pending requests, then cuts them. */
  readonly close: (ms: number) => Promise<void>;
}

interface Bounds {
  /** Time limit for the TLS handshake. */
  readonly handshakeMs: number;
  /** Time limit for the head of the first request, from the handshake on, and for the head of each later request. */
  readonly headMs: number;
  /** Time limit of a request, from its first byte to the last byte of its body. */
  readonly requestMs: number;
  /** Time limit of an idle connection, after its first request. */
  readonly idleMs: number;
  readonly connections: number;
  readonly connectionsOfNetwork: number;
}

/**
 * Bounds of both servers of this kind. The times are short, because a client sends its request immediately after it
 * connects. A network needs few connections, because clients behind one address, such as that of a NAT, do not all send
 * at the same time.
 */
export const standardBounds = {
  handshakeMs: 5_000,
  headMs: 3_000,
  requestMs: 10_000,
  connections: 2_000,
  connectionsOfNetwork: 256,
} as const;

interface HttpsAddress {
  readonly host: string;
  readonly port: number;
  readonly bounds: Bounds;
  /** Writes a line to the log when connections are refused. */
  readonly warn: (fields: object, message: string) => void;
}

/** `answer` never rejects. */
export async function startHttpsServer(
  answer: (request: IncomingMessage) => Promise<Reply>,
  { host, port, bounds, warn }: HttpsAddress,
  pair: Pair,
): Promise<HttpsServer> {
  const { handshakeMs, headMs, requestMs, idleMs } = bounds;
  const server = createServer(
    {
      ...contextOf(pair),
      requestTimeout: requestMs,
      headersTimeout: headMs,
      // How often Node checks the two timeouts above. The default is 30 s.
      connectionsCheckingInterval: Math.ceil(headMs / 3),
      keepAliveTimeout: idleMs,
      handshakeTimeout: handshakeMs,
    },
    (request, response) => void answer(request).then((reply) => send(response, reply)),
  );
  limitConnections(server, bounds, noteRefused(warn, `port ${port}`));
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

function limitConnections(
  server: Server,
  { connections, connectionsOfNetwork }: Bounds,
  refused: (why: string, network: string) => void,
): void {
  const seats = createSeats<string>({ each: connectionsOfNetwork, all: connections });
  // This listener runs before the TLS listener. If this listener destroys the socket, the TLS listener finds it already
  // destroyed.
  server.prependListener('connection', (socket: Socket) => {
    const network = networkOf(socket.remoteAddress ?? '');
    const seat = seats.take(network);
    if ('leave' in seat) return void socket.once('close', seat.leave);
    refused(seat.taken === 'by all' ? 'connections' : 'network', network);
    socket.destroy();
  });
}

async function close(server: Server, ms: number): Promise<void> {
  const timer = setTimeout(() => server.closeAllConnections(), ms);
  const closed = new Promise<void>((done) => server.close(() => done()));
  server.closeIdleConnections();
  await closed;
  clearTimeout(timer);
}

function send(response: ServerResponse, { status, body, headers = {} }: Reply): void {
  const bytes = Buffer.from(JSON.stringify(body));
  // With these two statuses, a part of the body may be unread. The connection is closed, so that the server does not
  // read the rest.
  const more = status === 413 || status === 503 ? { connection: 'close' } : {};
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': bytes.length, ...headers, ...more }).end(bytes);
}

export const isJson = ({ headers }: IncomingMessage): boolean => /^application\/json(?:\s*;|$)/i.test(headers['content-type'] ?? '');

/** Memory budget for the bodies that a server reads at the same time. */
export interface BodyBudget {
  /** False: the budget is used up. */
  take(bytes: number): boolean;
  leave(bytes: number): void;
}

export function createBodyBudget(bytesMax: number): BodyBudget {
  let taken = 0;
  return {
    take: (bytes) => {
      taken += bytes;
      return taken <= bytesMax;
    },
    leave: (bytes) => void (taken -= bytes),
  };
}

/**
 * A body up to this size is read even if the memory budget is used up. It is small enough for each connection to hold
 * one such body.
 */
const smallBytes = 65_536;

/**
 * Returns null if the body is larger than `bytesMax`. A large body is rejected when other bodies have used up the
 * memory budget.
 */
export async function readBody(request: IncomingMessage, bytesMax: number, budget: BodyBudget | null = null): Promise<string | null> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) return null;
  try {
    for await (const piece of request as AsyncIterable<Buffer>) {
      bytes += piece.length;
      const hasBudget = budget?.take(piece.length) ?? true;
      if (bytes > bytesMax) return null;
      if (!hasBudget && bytes > smallBytes) throw overBudget();
      pieces.push(piece);
    }
    return Buffer.concat(pieces).toString('utf8');
  } catch (error) {
    // A client that closes the connection early is not an error to investigate.
    throw request.complete || error instanceof AppError ? error : endedEarly();
  } finally {
    budget?.leave(bytes);
  }
}

const overBudget = (): AppError =>
  new AppError({ code: 'unavailable', publicMessage: 'too many large request bodies are being read now; try again', retryAfterSeconds: 1 });

const endedEarly = (): AppError =>
  new AppError({ code: 'bad_request', publicMessage: 'the connection was closed before the end of the request body' });
