// Writes events to a client's stream, each event whole, and no faster than the client reads them.
import { once } from 'node:events';
import type { FastifyReply } from 'fastify';
import type { Answer } from '../../../upstream/exchange.ts';
import { messageEvent } from '../../../upstream/wire/sse.ts';

export interface StreamWriter {
  /** Resolves when the client can accept more data. */
  write(text: string): Promise<void>;
  /** Sends a message of the proxy itself, as an event. */
  send(message: string): Promise<void>;
  end(): void;
}

const streamHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  connection: 'keep-alive',
  'x-accel-buffering': 'no',
};

/**
 * Opens the stream. Its head is sent together with the first event, if that event comes soon. Otherwise the head is sent
 * alone, because a client must not wait for it until the first event.
 */
export function openWriter(reply: FastifyReply, status: number, headers: Answer['headers'], signal: AbortSignal): StreamWriter {
  reply.hijack();
  const response = reply.raw;
  response.writeHead(status, { ...headers, ...streamHeaders });
  // The outcome of a call is recorded at the end of this turn of the event loop. An event that arrived together with the
  // head is written after that.
  let isHeadSent = false;
  setImmediate(() =>
    setImmediate(() => {
      if (!isHeadSent) response.flushHeaders();
    }),
  );
  const write = async (text: string): Promise<void> => {
    if (signal.aborted || response.writableEnded) return;
    isHeadSent = true;
    if (response.write(text)) return;
    await once(response, 'drain', { signal }).catch(() => undefined);
  };
  return {
    write,
    send: (message) => write(messageEvent(message)),
    end: () => {
      isHeadSent = true;
      response.end();
    },
  };
}
