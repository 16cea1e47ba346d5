// A small HTTPS server: what it answers is JSON. A new certificate is for the connections that come; those that are there,
// and the requests on them, go on. Anybody may reach it, so one network has a part of its connections, and none stays that asks nothing.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { Socket } from 'node:net';
import { AppError } from '@tollgate/proto/contract';
import { networkOf } from './domain/access/network.ts';
import { createSeats } from './operations/turns.ts';
import { noteRefused } from './refused-connections.ts';
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
  /** Until TLS is agreed on. */
  readonly handshakeMs: number;
  /** From then on, and of each later request: until its head is there. */
  readonly headMs: number;
  /** Of a request, from its first byte to the last of its body. */
  readonly requestMs: number;
  /** Of a connection without a request, once there was one. */
  readonly idleMs: number;
  readonly connections: number;
  readonly connectionsOfNetwork: number;
}

/** Of both such servers. Who asks does so at once; of an address of many, such as that of a NAT, not all ask at the same time. */
export const standardBounds = {
  handshakeMs: 5_000,
  headMs: 3_000,
  requestMs: 10_000,
  connections: 2_000,
  connectionsOfNetwork: 256,
} as const;

interface Listening {
  readonly host: string;
  readonly port: number;
  readonly bounds: Bounds;
  /** A line for the log, where connections are refused. */
  readonly warn: (fields: object, message: string) => void;
}

/** `answer` never rejects. */
export async function startHttpsServer(
  answer: (request: IncomingMessage) => Promise<Reply>,
  { host, port, bounds, warn }: Listening,
  pair: Pair,
): Promise<HttpsServer> {
  const { handshakeMs, headMs, requestMs, idleMs } = bounds;
  const server = createServer(
    {
      ...contextOf(pair),
      requestTimeout: requestMs,
      headersTimeout: headMs,
      // How often the two are looked at; half a minute otherwise.
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
  // Before TLS hears of it, which then finds that it is gone.
  server.prependListener('connection', (socket: Socket) => {
    const network = networkOf(socket.remoteAddress ?? '');
    const seat = seats.take(network);
    if ('leave' in seat) return void socket.once('close', seat.leave);
    refused(seat.taken === 'by all' ? 'connections' : 'network', network);
    socket.destroy();
  });
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
