// Remembers which user opened a connection to the sidecar's Unix domain socket. The listener notes it when it accepts
// the connection, and the endpoints read it for each request.
import type { Socket } from 'node:net';

const uids = new WeakMap<Socket, number>();

/** `uid`: what the kernel says about the process that connected. */
export const notePeerUid = (socket: Socket, uid: number): void => void uids.set(socket, uid);

/** Undefined: the connection came over TCP, or the user is not known. */
export const peerUidOf = (socket: Socket): number | undefined => uids.get(socket);
