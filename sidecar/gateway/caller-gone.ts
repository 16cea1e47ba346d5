// Whether the sender of a request over HTTP still waits for its answer: a gateway that asks (nginx by `auth_request`) closes the
// connection once its time-out is over, and lets nothing pass then.
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Aborted once the connection of the request takes no answer any more: closed, or closed by its other end. */
export function callerGone({ raw: { socket } }: FastifyRequest, reply: FastifyReply): AbortSignal {
  const leaving = new AbortController();
  const leave = (): void => leaving.abort();
  if (socket.destroyed || socket.readableEnded) leave();
  socket.once('end', leave).once('close', leave);
  // The same connection may bring the next request.
  reply.raw.once('close', () => socket.off('end', leave).off('close', leave));
  return leaving.signal;
}
