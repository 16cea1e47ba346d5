// The connections of the gRPC server, so that nobody without a key fills the process with them: how many there may be, how many
// of those may be strangers, from one network and in all, and for how long one may be of no use.
//
// States of one: stranger (no stream of it was let in yet; it holds a seat, and its time runs) → in use (a stream that was let in goes
// on) ⇄ idle (none does; its time runs) → closed. Whoever's time is over is closed, also where what was written to it lies
// unread.
import type { Socket } from 'node:net';
import { networkOf } from '../domain/access/network.ts';
import { createSeats } from '../operations/turns.ts';
import { noteRefused } from '../refused-connections.ts';
import { listenEverywhere } from './listen.ts';
import type { ConnectionRefusal, GrpcMetrics } from './metrics.ts';

export interface ConnectionBounds {
  readonly all: number;
  readonly strangers: number;
  readonly strangersOfNetwork: number;
  /** Without a stream that was let in. */
  readonly uselessMs: number;
}

/** A sidecar has three connections, and a workspace may have 10,000 sidecars. */
export const connectionBounds: ConnectionBounds = { all: 50_000, strangers: 2_000, strangersOfNetwork: 1_000, uselessMs: 20_000 };

/** How long it may take to tell the other ends that this server stops. */
const endingMs = 500;

export interface Connections {
  readonly port: number;
  /** A stream of the connection that comes from `peer` was let in; call what this answers when it is over. */
  letIn(peer: string): () => void;
  /** Takes no more, and cuts those that have not ended in a moment. */
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

/** `serve` is given each connection that may stay. */
export async function listenForConnections(
  { metrics, log }: ConnectionDeps,
  { host, port, bounds }: { readonly host: string; readonly port: number; readonly bounds: ConnectionBounds },
  serve: (socket: Socket) => void,
): Promise<Connections> {
  const open = new Map<string, Connection>();
  const seats = createSeats<string>({ each: bounds.strangersOfNetwork, all: bounds.strangers });
  const note = noteRefused((fields, message) => log.warn(fields, message), 'gRPC');
  const refuse = (socket: Socket, why: ConnectionRefusal): void => {
    metrics.connectionRefused(why);
    note(why, networkOf(socket.remoteAddress ?? ''));
    socket.destroy();
  };
  const accept = (socket: Socket): void => {
    const { remoteAddress = '', remotePort = 0 } = socket;
    const peer = peerOf(remoteAddress, remotePort);
    // The one before it from there is not quite gone.
    if (open.has(peer)) return void socket.destroy();
    if (open.size >= bounds.all) return refuse(socket, 'connections');
    const seat = seats.take(networkOf(remoteAddress));
    if ('taken' in seat) return refuse(socket, seat.taken === 'by all' ? 'strangers' : 'network');
    const { letIn, forget } = tend(bounds.uselessMs, seat.leave, (wasOfUse) => (wasOfUse ? socket.destroy() : refuse(socket, 'no_key')));
    open.set(peer, { socket, letIn });
    metrics.connections(1);
    socket.once('close', () => {
      forget();
      open.delete(peer);
      metrics.connections(-1);
    });
    serve(socket);
  };
  const failed = (error: Error): void => log.warn({ reason: error.message }, 'a connection of gRPC could not be accepted');
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

/** As grpc-js names the other end of a stream. */
const peerOf = (address: string, port: number): string => `${address}:${port}`;

/** Of one connection: for how long it has been of no use. */
function tend(uselessMs: number, leave: () => void, end: (wasOfUse: boolean) => void) {
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
