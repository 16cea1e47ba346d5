// One request to a tool server and what comes back, whatever the server is: the form in which `http-upstream.ts` and
// `programs/programs.ts` are the same to the proxy.
import type { ClientMessage } from './wire/message.ts';
import type { Era } from './wire/methods.ts';
import type { SseEvent } from './wire/sse.ts';

export interface Exchange {
  readonly era: Era;
  readonly method: 'POST' | 'GET' | 'DELETE';
  /** All that is sent; nothing is added but the server's own. */
  readonly headers: Readonly<Record<string, string>>;
  /** What `body` says, of a POST. */
  readonly message: ClientMessage | null;
  readonly body: string | null;
  /** The client is gone, or does not wait any more. */
  readonly signal: AbortSignal;
  /** A client asks, not the proxy itself: it may be told more than the answer. */
  readonly fromClient?: boolean;
}

export interface Answer {
  readonly status: number;
  /** Those that a client needs. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body:
    | { readonly kind: 'none' }
    /** One JSON text, not looked at yet. */
    | { readonly kind: 'json'; readonly bytes: Uint8Array }
    /**
     * Ends where the server's stream does; throws `UpstreamDown` where it breaks. Null stands for a comment. With a `line`, all
     * of a session comes from one: what names no request may be of any, and the answer of a request that a client made comes
     * on this stream or none, so it goes on when the client is gone.
     */
    | { readonly kind: 'events'; readonly events: AsyncIterable<SseEvent | null>; readonly line?: 'session' };
}

/** For a message that nothing is answered to: whatever comes back besides the status is not read. */
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

/** Rejects with an `UpstreamDown`, or with what the signal was aborted with. */
export type Send = (exchange: Exchange) => Promise<Answer>;
