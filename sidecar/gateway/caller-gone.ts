// Whether the sender of a request over HTTP still waits for its answer: a gateway that asks (nginx by `auth_request`) closes the
// connection once its time-out is over, and lets nothing pass then.
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Gone } from '../govern/govern.ts';

/** Gone once the connection of the request takes no answer any more: closed, or closed by its other end. */
export const callerGone = ({ raw: { socket } }: FastifyRequest, reply: FastifyReply): Gone => new HttpCaller(socket, reply);

/** Looked at when it is asked for: a listener at each request takes longer than deciding. */
class HttpCaller implements Gone {
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
    // The same connection may bring the next request.
    this.#reply.raw.once('close', () => socket.off('end', listener).off('close', listener));
  }
}
