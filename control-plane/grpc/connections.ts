// Limits the connections of the gRPC server, so that clients without a key cannot use up the process. Limits: the
// number of connections, the number of unauthenticated connections from one network and in total, and the time without
// an authenticated stream.
//
// States of a connection: unauthenticated (no stream was authenticated yet; it holds a seat, and its timer runs) → in
// use (an authenticated stream is open) ⇄ idle (no authenticated stream is open; its timer runs) → closed. When the
// timer expires, the connection is closed, even if the client has not read everything that was written to it.
import type { Socket } from 'node:net';
import { networkOf } from '../base/network.ts';
import { createSeats } from '../base/turns.ts';
import { noteRefused } from '../base/refused-connections.ts';
import { listenEverywhere } from './listen.ts';
import type { ConnectionRefusal, GrpcMetrics } from './metrics.ts';

export interface ConnectionBounds {
  readonly all: number;
  readonly withoutKey: number;
  readonly withoutKeyOfNetwork: number;
  /** Time without an authenticated stream. */
  readonly uselessMs: number;
}

/** A sidecar has three connections, and a workspace can have 10,000 sidecars. */
export const connectionBounds: ConnectionBounds = { all: 50_000, withoutKey: 2_000, withoutKeyOfNetwork: 1_000, uselessMs: 20_000 };

/** Time to notify the clients that this server stops. */
const endingMs = 500;

export interface Connections {
  readonly port: number;
  /**
   * Call when a stream of the connection from `peer` was authenticated. Call the returned function when the stream has
   * ended.
   */
  letIn(peer: string): () => void;
  /** Accepts no more connections. After a moment, cuts the connections that have not ended. */
  close(): void;
}

interface ConnectionDeps {
  readonly metrics: Pick<GrpcMetrics, 'connections' | 'connectionRefused'>;
  readonly log: { warn(fields: object, message: string): void };
}

interface Connection {
  readonly socket: Socket;
  readonly letIn: () => () => void;
}

/** `serve` receives each accepted connection. */
export async function listenForConnections(
  { metrics, log }: ConnectionDeps,
  { host, port, bounds }: { readonly host: string; readonly port: number; readonly bounds: ConnectionBounds },
  serve: (socket: Socket) => void,
): Promise<Connections> {
  const open = new Map<string, Connection>();
  const seats = createSeats<string>({ each: bounds.withoutKeyOfNetwork, all: bounds.withoutKey });
  const note = noteRefused((fields, message) => log.warn(fields, message), 'gRPC');
  const refuse = (socket: Socket, why: ConnectionRefusal): void => {
    metrics.connectionRefused(why);
    note(why, networkOf(socket.remoteAddress ?? ''));
    socket.destroy();
  };
  const accept = (socket: Socket): void => {
    const { remoteAddress = '', remotePort = 0 } = socket;
    const peer = peerOf(remoteAddress, remotePort);
    // Another connection from the same address and port is not completely closed yet.
    if (open.has(peer)) return void socket.destroy();
    if (open.size >= bounds.all) return refuse(socket, 'connections');
    const seat = seats.take(networkOf(remoteAddress));
    if ('taken' in seat) return refuse(socket, seat.taken === 'by all' ? 'strangers' : 'network');
    const { letIn, forget } = watchUse(bounds.uselessMs, seat.leave, (wasOfUse) =>
      wasOfUse ? socket.destroy() : refuse(socket, 'no_key'),
    );
    open.set(peer, { socket, letIn });
    metrics.connections(1);
    socket.once('close', () => {
      forget();
      open.delete(peer);
      metrics.connections(-1);
    });
    serve(socket);
  };
  const failed = (error: Error): void => log.warn({ reason: error.message }, 'a gRPC connection could not be accepted');
  const listening = await listenEverywhere(host, port, { accept, failed });
  return {
    port: listening.port,
    letIn: (peer) => open.get(peer)?.letIn() ?? (() => undefined),
    close: () => {
      listening.close();
      const cut = (): void => {
        for (const { socket } of open.values()) socket.destroy();
      };
      setTimeout(cut, endingMs).unref();
    },
  };
}

/** Returns the name that grpc-js gives to the peer of a stream. */
const peerOf = (address: string, port: number): string => `${address}:${port}`;

/** Returns the address of a peer. */
export const addressOf = (peer: string): string => peer.slice(0, Math.max(0, peer.lastIndexOf(':')));

/** Measures how long one connection has had no authenticated stream. */
function watchUse(uselessMs: number, leave: () => void, end: (wasOfUse: boolean) => void) {
  let streams = 0;
  let wasOfUse = false;
  let isGone = false;
  const run = (): NodeJS.Timeout => setTimeout(() => end(wasOfUse), uselessMs);
  let timer = run();
  const letIn = (): (() => void) => {
    let isOver = false;
    streams += 1;
    wasOfUse = true;
    leave();
    clearTimeout(timer);
    return () => {
      if (isOver) return;
      isOver = true;
      streams -= 1;
      if (streams === 0 && !isGone) timer = run();
    };
  };
  const forget = (): void => {
    isGone = true;
    leave();
    clearTimeout(timer);
  };
  return { letIn, forget };
}
