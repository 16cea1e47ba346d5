// Defines one request to a tool server and its answer. `http-upstream.ts` and `programs/programs.ts` both implement
// this interface for the proxy.
import type { ClientMessage } from './wire/message.ts';
import type { Era } from './wire/methods.ts';
import type { SseEvent } from './wire/sse.ts';

export interface Exchange {
  readonly era: Era;
  readonly method: 'POST' | 'GET' | 'DELETE';
  /** All headers of the request. When it is sent, only the server's own headers and `accept-encoding` are added. */
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed `body` of a POST. */
  readonly message: ClientMessage | null;
  readonly body: string | null;
  /** Aborted when the client has disconnected or no longer waits. */
  readonly signal: AbortSignal;
  /** True: a client sends the request, and not the proxy itself. A client may receive more messages than the answer. */
  readonly fromClient?: boolean;
}

export interface Answer {
  readonly status: number;
  /** The headers that a client needs. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body:
    | { readonly kind: 'none' }
    /** One JSON text, not parsed yet. */
    | { readonly kind: 'json'; readonly bytes: Uint8Array }
    /**
     * Ends when the server's stream ends. Throws `UpstreamDown` if the stream breaks. Null represents a comment. `line`
     * is set if all messages of a session come from one channel. Then a message that names no request may belong to any
     * request of the session. The answer to a client's request comes only on the stream of that request. Therefore this
     * stream continues after the client has disconnected.
     */
    | { readonly kind: 'events'; readonly events: AsyncIterable<SseEvent | null>; readonly line?: 'session' };
}

/** Sends a message that has no response. Returns the answer without its body. */
export async function sendOnly(send: Send, exchange: Exchange): Promise<Answer> {
  const unread = new AbortController();
  const answer = await send({ ...exchange, signal: AbortSignal.any([exchange.signal, unread.signal]) });
  if (answer.body.kind === 'events') {
    unread.abort();
    const events = answer.body.events[Symbol.asyncIterator]();
    await events.next().catch(() => undefined);
    await events.return?.();
  }
  return { ...answer, body: { kind: 'none' } };
}

/** Sends a request to a tool server. Rejects with an `UpstreamDown`, or with the abort reason of the signal. */
export type Send = (exchange: Exchange) => Promise<Answer>;
