// The answer to a request whose body is larger than we read. The connection is closed after it; but a client that is still sending when it is
// closed loses the answer, and takes that for an outage. So what it sends is dropped for a while, and kept nowhere, before the connection ends.
//
// States: answered, with all of its text → dropping what comes → ended: the body is over, or so many bytes or so much time have passed.
import type { FastifyReply, FastifyRequest } from 'fastify';

const droppedBytesMax = 64 * 1_048_576;
const droppingMs = 5_000;

export const isTooLarge = (error: { readonly code?: string }): boolean => error.code === 'FST_ERR_CTP_BODY_TOO_LARGE';

interface Said {
  readonly status: number;
  /** JSON. */
  readonly text: string;
}

/** With the headers that the reply has. */
export function answerUnread({ raw: request }: FastifyRequest, reply: FastifyReply, { status, text }: Said): void {
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
