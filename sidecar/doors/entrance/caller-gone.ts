// Reports whether the sender of an HTTP request still waits for its answer. A gateway that asks (nginx by
// `auth_request`) closes the connection when its timeout is over, and then lets nothing pass.
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { DisconnectSignal } from '../../engine/govern/govern.ts';

/**
 * Aborted when the connection of the request cannot take an answer any more: it is closed, or its other end has closed
 * it.
 */
export const callerGone = ({ raw: { socket } }: FastifyRequest, reply: FastifyReply): DisconnectSignal => new HttpCaller(socket, reply);

/** Checks the socket only when asked: adding a listener for each request takes longer than the decision. */
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
    // The same connection may carry the next request.
    this.#reply.raw.once('close', () => socket.off('end', listener).off('close', listener));
  }
}
