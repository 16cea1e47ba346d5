// Tracks which connections of a server are answering a request. At a stop, the idle connections are closed immediately,
// and the others after their answer. Node treats a connection that has never sent a request as busy and would wait for
// it.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { connectionEvent } from './tls.ts';

export interface Connections {
  /** Closes every idle connection from now on. */
  closeIdle(): void;
}

/** Call before the server listens. */
export function watchConnections(server: Server): Connections {
  const answering = new Map<Socket, number>();
  let closing = false;
  const closeIfIdle = (socket: Socket): void => {
    if (closing && answering.get(socket) === 0) socket.end(() => socket.destroySoon());
  };
  server.on(connectionEvent(server), (socket: Socket) => {
    answering.set(socket, 0);
    socket.once('close', () => answering.delete(socket));
    closeIfIdle(socket);
  });
  // This listener must run first, so that it counts a request before another listener can answer it.
  server.prependListener('request', ({ socket }, response) => {
    answering.set(socket, (answering.get(socket) ?? 0) + 1);
    response.once('close', () => {
      if (!answering.has(socket)) return;
      answering.set(socket, (answering.get(socket) ?? 1) - 1);
      closeIfIdle(socket);
    });
  });
  return {
    closeIdle: () => {
      closing = true;
      for (const socket of answering.keys()) closeIfIdle(socket);
    },
  };
}
