// Answers a request whose body is larger than the limit, and closes the connection after the answer. If the connection
// closes while a client is still sending, the client loses the answer and reports an outage. Therefore this code reads
// and discards the rest of the body for a limited time before it closes the connection.
//
// States: answered (the whole text is written) → discarding received bytes → ended. It ends when the body is complete,
// or after `droppedBytesMax` bytes or `droppingMs` ms.
import type { FastifyReply, FastifyRequest } from 'fastify';

const droppedBytesMax = 64 * 1_048_576;
const droppingMs = 5_000;

export const isTooLarge = (error: { readonly code?: string }): boolean => error.code === 'FST_ERR_CTP_BODY_TOO_LARGE';

interface UnreadAnswer {
  readonly status: number;
  /** The body of the answer, as JSON. */
  readonly text: string;
}

/**
 * Sends the answer and discards the rest of the request's body. Headers that are already set on the reply are sent too.
 */
export function answerUnread({ raw: request }: FastifyRequest, reply: FastifyReply, { status, text }: UnreadAnswer): void {
  const headers = reply.getHeaders();
  const { raw: response } = reply.hijack();
  let dropped = 0;
  const end = (): void => {
    clearTimeout(timer);
    request.off('data', drop);
    response.end();
  };
  const drop = (bytes: Buffer): void => {
    dropped += bytes.length;
    if (dropped > droppedBytesMax) end();
  };
  const timer = setTimeout(end, droppingMs);
  response.once('close', () => clearTimeout(timer));
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) response.setHeader(name, value);
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    connection: 'close',
  });
  response.write(text);
  request.on('data', drop).once('end', end).resume();
}
