// Reports whether the sender of an HTTP request still waits for its answer. For example, the gateway nginx
// (`auth_request`) closes the connection when its timeout is over, and then refuses the original request.
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { DisconnectSignal } from '../../base/disconnect-signal.ts';

/**
 * Returns a signal that is aborted when the connection can no longer take an answer: it is closed, or its other end has
 * closed it.
 */
export const callerGone = ({ raw: { socket } }: FastifyRequest, reply: FastifyReply): DisconnectSignal => new HttpCaller(socket, reply);

/** Checks the socket only when `aborted` is read. A listener for each request would take longer than the decision. */
class HttpCaller implements DisconnectSignal {
  readonly #socket: Socket;
  readonly #reply: FastifyReply;

  constructor(socket: Socket, reply: FastifyReply) {
    this.#socket = socket;
    this.#reply = reply;
  }

  get aborted(): boolean {
    return this.#socket.destroyed || this.#socket.readableEnded;
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    const socket = this.#socket.once('end', listener).once('close', listener);
    // The listeners are removed, because the same connection may carry the next request.
    this.#reply.raw.once('close', () => socket.off('end', listener).off('close', listener));
  }
}
