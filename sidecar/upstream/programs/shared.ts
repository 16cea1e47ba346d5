// Runs one program for all clients, in the newest revision. That revision has no sessions, and each request is
// complete. The ids of different clients could collide on one channel. Therefore each request gets a number of ours
// there. The number also replaces the progress token, and the id of a subscription.
//
// States of a request: open (its answer is pending) → answered (its reader may still have to read it) → gone (its
// reader has left). A reader that does not read for too long is dropped with its unread messages. If the unread
// messages of all readers exceed the total limit, the readers with the most unread messages are dropped.
import type { Answer, Exchange } from '../exchange.ts';
import { createLoad, createMailbox, type Mailbox } from './mailbox.ts';
import { inClientsWords, inOurWords, numberOf, type Place, placeOf } from './place.ts';
import { isFields } from '../wire/message.ts';
import { sendTo } from './session.ts';
import { rpcErrors } from '../wire/rpc.ts';
import { readMessage, type ServerMessage } from '../wire/server-message.ts';
import type { SseEvent } from '../wire/sse.ts';
import { type Channel, type ChannelListener, UpstreamDown } from '../upstream.ts';

export interface SharedProgram {
  exchange(exchange: Exchange): Promise<Answer>;
  close(): void;
}

interface SharedPlace extends Place {
  /**
   * What the program sent first: a response (stored as its HTTP status) or a message for a stream. Null: nothing yet.
   */
  opening: number | 'stream' | null;
}

/** The maximum size of the messages on the way to one reader, in characters. One message may exceed it. */
const loadMax = 32 * 1_048_576;
/**
 * The maximum number of unread characters of all readers together. A message that a reader has taken is not counted
 * here. Otherwise readers that are slow to finish a message would use up the capacity of the others.
 */
const unreadMax = 32 * 1_048_576;
const notRead = 'had unread messages for too long';

/** Rejects with an `UpstreamDown`. `ended` is called when the program has exited. */
export async function openSharedProgram(open: (listener: ChannelListener) => Promise<Channel>, ended: () => void): Promise<SharedProgram> {
  const places = new Map<number, SharedPlace>();
  /** All requests that have a reader, including those that are answered. */
  const boxes = new Map<number, Mailbox>();
  let last = 0;

  const drop = (number: number, box: Mailbox): void => {
    places.delete(number);
    box.drop(notRead);
  };
  const freePlaces = (): void => {
    let unread = [...boxes.values()].reduce((sum, box) => sum + box.unread, 0);
    if (unread < unreadMax) return;
    for (const [number, box] of [...boxes].sort(([, a], [, b]) => b.unread - a.unread)) {
      if (unread < unreadMax) return;
      unread -= box.unread;
      drop(number, box);
    }
  };
  const deliver = (number: number, { box }: Place, text: string): void => {
    // A message is delivered without waiting: no reader may delay the others, because all read from the same program.
    freePlaces();
    if (box.isFull) drop(number, box);
    else void box.put(text);
  };
  const channel = await open({
    message: (bytes) => {
      const message = readMessage(bytes);
      if (message === null || message.kind === 'request') return;
      const number = numberOf(message);
      const place = number === null ? undefined : places.get(number);
      if (number === null || place === undefined) return;
      place.opening ??= message.kind === 'response' ? statusOf(message) : 'stream';
      deliver(number, place, inClientsWords(message, place));
      if (message.kind === 'notification') return;
      places.delete(number);
      place.box.end();
    },
    closed: (problem) => {
      for (const { box } of places.values()) box.end(problem);
      ended();
    },
  });

  return {
    close: () => channel.close(),
    exchange: async ({ method, message, body, signal }) => {
      if (method !== 'POST' || message?.kind !== 'request' || body === null) return { status: 202, headers: {}, body: { kind: 'none' } };
      const number = (last += 1);
      const place: SharedPlace = { ...placeOf(message, createMailbox(createLoad(loadMax))), opening: null };
      places.set(number, place);
      boxes.set(number, place.box);
      try {
        await sendTo(channel, inOurWords(body, number, place));
      } catch (error) {
        places.delete(number);
        boxes.delete(number);
        throw error;
      }
      const events = place.box.events(signal, () => {
        boxes.delete(number);
        if (!places.delete(number)) return;
        // The caller has disconnected before the answer. The program must be told this with an explicit message.
        const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: number } };
        channel.send(JSON.stringify(cancelled)).catch(() => undefined);
      });
      // A subscription gets its stream immediately, and does not wait for the first message of the program, because
      // policy changes are reported on this stream too.
      if (message.method === 'subscriptions/listen') return { status: 200, headers: {}, body: { kind: 'events', events } };
      return answerOf(place, events, signal);
    },
  };
}

/** Answers as an HTTP server does: with JSON if the response arrives first, otherwise with a stream. */
async function answerOf(place: SharedPlace, events: AsyncGenerator<SseEvent>, signal: AbortSignal): Promise<Answer> {
  const { value: first } = await events.next();
  signal.throwIfAborted();
  if (first?.data == null) throw new UpstreamDown('the tool server did not answer the request');
  if (typeof place.opening !== 'number') return { status: 200, headers: {}, body: { kind: 'events', events: startingWith(first, events) } };
  await events.return(undefined);
  return { status: place.opening, headers: {}, body: { kind: 'json', bytes: Buffer.from(first.data) } };
}

async function* startingWith<T>(first: T, rest: AsyncGenerator<T>): AsyncGenerator<T> {
  try {
    yield first;
    yield* rest;
  } finally {
    await rest.return(undefined);
  }
}

/** Returns the HTTP status for a response. Some errors have their own status. All other responses have status 200. */
function statusOf({ holds, value }: ServerMessage & { readonly kind: 'response' }): number {
  const code = holds === 'error' && isFields(value) ? value['code'] : undefined;
  if (code === rpcErrors.method) return 404;
  return code === rpcErrors.headers || code === rpcErrors.capability || code === rpcErrors.version ? 400 : 200;
}
