// Lets the HTTP server also listen on a Unix domain socket. Its connections are given to the same HTTP server, so they
// have the same endpoints, time limits and end as those of the port. They have a server of their own only to be
// accepted and counted.
import { createServer, type Server as NetServer } from 'node:net';
import type { Server } from 'node:http';
import { notePeerUid } from '../doors/entrance/peer-uid.ts';
import { openPeerUids } from './read-peer-uid.ts';
import { placeSocket } from './socket-path.ts';
import type { Log } from '../base/log.ts';

export interface LocalSocket {
  /** Deletes the socket and accepts no more connections. Resolves when all its connections are closed. */
  close(): Promise<void>;
}

/** How many of the connections that the process may have are for the socket. */
const connectionsMax = 1_000;

/** Rejects with the problem in words, which names the variable. */
export async function listenLocally(http: Server, path: string, log: Pick<Log, 'warn'>, max = connectionsMax): Promise<LocalSocket> {
  const uids = await openPeerUids();
  // As those of an HTTP server, these connections stay open for the answer when the client ends its request.
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const uid = 'problem' in uids ? null : uids.read(socket);
    if (uid !== null) notePeerUid(socket, uid);
    http.emit('connection', socket);
  });
  server.maxConnections = max;
  http.maxConnections -= max;
  const placed = await placeSocket(server, path).catch((error: unknown) => {
    throw new Error(`TOLLGATE_SOCKET ${path}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  });
  server.on('error', (error) => log.warn({ err: error }, 'a connection to TOLLGATE_SOCKET cannot be accepted'));
  if ('problem' in uids) log.warn({ why: uids.problem }, 'entries of calls through TOLLGATE_SOCKET do not say the user of the caller');
  return {
    close: async () => {
      await placed.remove().catch((error: unknown) => log.warn({ err: error }, 'TOLLGATE_SOCKET cannot be deleted'));
      await ended(server);
      await placed.release();
    },
  };
}

const ended = (server: NetServer): Promise<void> => new Promise((done) => server.close(() => done()));
