// One session of the revisions before 2026-07-28 with its own program. The program has one channel for all messages.
// This module assigns them to streams. An answer or a progress message belongs to the stream of its request. A message
// that names no request belongs to the stream of the newest open request, or to the stream that the client keeps open,
// or to the backlog for that stream.
//
// States of a request: open (its answer is pending, even after its client disconnected, because no other stream carries
// it) → answered or cancelled (later messages for it are dropped). All requests end when the program has exited.
import type { Answer, Exchange } from '../exchange.ts';
import { withMember } from '../wire/json-text.ts';
import type { ClientRequest } from '../wire/message.ts';
import { readMessage, type ServerMessage } from '../wire/server-message.ts';
import { type Channel, type ChannelListener, UpstreamDown } from '../upstream.ts';
import { createLoad, createMailbox, type Mailbox } from './mailbox.ts';
import { inClientsWords, inOurWords, numberOf, type Place, placeOf } from './place.ts';
import { createUnreadMessages } from './unread-messages.ts';

export interface ProgramSession {
  /** A POST or a GET. */
  exchange(exchange: Exchange): Promise<Answer>;
  /** True: no client waits for anything in the session. */
  readonly isIdle: boolean;
  close(): void;
}

interface OpenRequest extends Place {
  /** Whether a connected client can receive messages other than the answer. */
  readonly isHeard: () => boolean;
}

/**
 * Limit of the messages in transit to all readers, plus one message. Above it the program waits until a reader has
 * read.
 */
const loadMax = 8 * 1_048_576;
const accepted: Answer = { status: 202, headers: {}, body: { kind: 'none' } };
const broadcast = new Set([
  'notifications/resources/updated',
  'notifications/resources/list_changed',
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
]);

/** Rejects with an `UpstreamDown`. `ended` is called when the program has exited. */
export async function openProgramSession(
  open: (listener: ChannelListener) => Promise<Channel>,
  ended: () => void,
): Promise<ProgramSession> {
  const requests = new Map<number, OpenRequest>();
  const unread = createUnreadMessages();
  const load = createLoad(loadMax);
  let standing: Mailbox | null = null;
  let last = 0;

  const newestHeard = (): Mailbox | null => [...requests.values()].findLast(({ isHeard }) => isHeard())?.box ?? null;
  const boxFor = (message: ServerMessage & { readonly method: string }): Mailbox | null =>
    broadcast.has(message.method) ? (standing ?? newestHeard()) : (newestHeard() ?? standing);
  const channel = await open({
    message: (bytes) => {
      const message = readMessage(bytes);
      if (message === null) return undefined;
      if (message.kind !== 'response' && message.method !== 'notifications/progress') {
        const box = boxFor(message);
        return box === null ? unread.add(message.text) : box.put(message.text);
      }
      const number = numberOf(message);
      const place = number === null ? undefined : requests.get(number);
      if (number === null || place === undefined) return undefined;
      const room = place.box.put(inClientsWords(message, place));
      if (message.kind === 'response') {
        requests.delete(number);
        place.box.end();
      }
      return room;
    },
    closed: (problem) => {
      for (const { box } of requests.values()) box.end(problem);
      standing?.end(problem);
      ended();
    },
  });

  const stand = (signal: AbortSignal): Answer => {
    if (standing !== null) return { status: 409, headers: {}, body: { kind: 'none' } };
    const box = createMailbox(load);
    standing = box;
    for (const text of unread.take()) void box.put(text);
    const events = box.events(signal, () => {
      if (standing === box) standing = null;
    });
    return { status: 200, headers: {}, body: { kind: 'events', events, line: 'session' } };
  };
  const ask = async (message: ClientRequest, body: string, exchange: Exchange): Promise<Answer> => {
    const { signal, fromClient = false } = exchange;
    const number = (last += 1);
    const place: OpenRequest = { ...placeOf(message, createMailbox(load)), isHeard: () => fromClient && !signal.aborted };
    requests.set(number, place);
    try {
      await sendTo(channel, inOurWords(body, number, place));
    } catch (error) {
      requests.delete(number);
      throw error;
    }
    const events = place.box.events(fromClient ? null : signal, () => void requests.delete(number));
    return { status: 200, headers: {}, body: { kind: 'events', events, line: 'session' } };
  };
  /** The program receives no cancellation for a request that is not open. */
  const cancel = async (id: unknown, body: string): Promise<void> => {
    const found = [...requests].findLast(([, place]) => place.id === JSON.stringify(id));
    if (found === undefined) return;
    const [number, { box }] = found;
    requests.delete(number);
    box.end();
    await sendTo(channel, withMember(body, ['params', 'requestId'], String(number)));
  };

  return {
    get isIdle() {
      return standing === null && newestHeard() === null;
    },
    close: () => channel.close(),
    exchange: async (exchange) => {
      const { method, message, body, signal } = exchange;
      if (method === 'GET') return stand(signal);
      if (message === null || body === null) throw new RangeError('a POST to a program must have a message');
      if (message.kind === 'request') return ask(message, body, exchange);
      if (message.kind === 'notification' && message.method === 'notifications/cancelled') await cancel(message.params['requestId'], body);
      else await sendTo(channel, body);
      return accepted;
    },
  };
}

export async function sendTo(channel: Channel, text: string): Promise<void> {
  try {
    await channel.send(text);
  } catch (error) {
    throw error instanceof UpstreamDown ? new UpstreamDown(`the tool server ${error.message}`) : error;
  }
}
