// Which connections of a server answer a request: at a stop the others are closed at once, and each of these after its answer. Node
// takes one that has never asked anything for busy, and would wait for it.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

export interface Connections {
  /** From now on none stays that answers nothing. */
  closeIdle(): void;
}

/** Call before the server listens. */
export function watchConnections(server: Server): Connections {
  const answering = new Map<Socket, number>();
  let closing = false;
  const closeIfIdle = (socket: Socket): void => {
    if (closing && answering.get(socket) === 0) socket.end(() => socket.destroySoon());
  };
  server.on('connection', (socket) => {
    answering.set(socket, 0);
    socket.once('close', () => answering.delete(socket));
    closeIfIdle(socket);
  });
  // The first to hear of a request: it cannot be answered before.
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
