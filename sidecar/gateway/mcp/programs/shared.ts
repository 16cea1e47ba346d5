// One program for everybody, in the newest revision: it has no sessions, and each request says all that there is to know. On
// one line the ids of many clients would meet, so each request has one of ours there, also where it stands for a stream of
// progress or of changes.
//
// States of a request: open (its answer is awaited), answered (its reader may still have to read it), gone (its reader is). One that is
// not read for too long, or that has most unread where all together have too much, ends at once, and what it has unread is dropped.
import type { Answer, Exchange } from '../exchange.ts';
import { createLoad, createMailbox, type Mailbox } from './mailbox.ts';
import { inClientsWords, inOurWords, numberOf, type Place, placeOf } from './place.ts';
import { isFields } from '../wire/message.ts';
import { readMessage, sendTo } from './session.ts';
import { rpcErrors } from '../wire/rpc.ts';
import type { ServerMessage } from '../wire/server-message.ts';
import type { SseEvent } from '../wire/sse.ts';
import { type Channel, type ChannelListener, UpstreamDown } from '../upstream.ts';

export interface SharedProgram {
  exchange(exchange: Exchange): Promise<Answer>;
  close(): void;
}

interface SharedPlace extends Place {
  /** What came first: the response, by the status that it has over HTTP, or what a stream is for; null: nothing yet. */
  opening: number | 'stream' | null;
}

/** On its way to one reader, in characters, besides one message more. */
const loadMax = 32 * 1_048_576;
/** Of all of them together; what they have in hand is not counted here, or those who hold on to it would take all room from others. */
const unreadMax = 32 * 1_048_576;
const notRead = 'was not listened to for too long';

/** Rejects with an `UpstreamDown`. `ended`: the program is gone. */
export async function openSharedProgram(open: (listener: ChannelListener) => Promise<Channel>, ended: () => void): Promise<SharedProgram> {
  const places = new Map<number, SharedPlace>();
  /** Of all that have a reader, also where their request is answered. */
  const boxes = new Map<number, Mailbox>();
  let last = 0;

  const drop = (number: number, box: Mailbox): void => {
    places.delete(number);
    box.drop(notRead);
  };
  const makeRoom = (): void => {
    let unread = [...boxes.values()].reduce((sum, box) => sum + box.unread, 0);
    if (unread < unreadMax) return;
    for (const [number, box] of [...boxes].sort(([, a], [, b]) => b.unread - a.unread)) {
      if (unread < unreadMax) return;
      unread -= box.unread;
      drop(number, box);
    }
  };
  const deliver = (number: number, { box }: Place, text: string): void => {
    // Nobody waits for one reader: the others read from the same program.
    makeRoom();
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
        // The caller is gone, which on this way has to be said.
        const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: number } };
        channel.send(JSON.stringify(cancelled)).catch(() => undefined);
      });
      // Who listens is told of what changes here too, whenever the program begins.
      if (message.method === 'subscriptions/listen') return { status: 200, headers: {}, body: { kind: 'events', events } };
      return answerOf(place, events, signal);
    },
  };
}

/** As a server answers that speaks HTTP: with a stream where more is to come than the response. */
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

/** Errors that have a status of their own over HTTP; all others are answers. */
function statusOf({ holds, value }: ServerMessage & { readonly kind: 'response' }): number {
  const code = holds === 'error' && isFields(value) ? value['code'] : undefined;
  if (code === rpcErrors.method) return 404;
  return code === rpcErrors.headers || code === rpcErrors.capability || code === rpcErrors.version ? 400 : 200;
}
