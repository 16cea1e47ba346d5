// Runs one session of the revisions before 2026-07-28 with its own program. The program has one channel for all
// messages, and this module assigns them to streams. An answer or a progress message belongs to the stream of its
// request. A message that names no request belongs to the stream of the newest open request, or to the stream that the
// client keeps open. If there is neither, the message is stored for the next stream that the client opens.
//
// States of a request: open (its answer is pending, even after its client disconnected, because no other stream carries
// the answer) → answered or cancelled (later messages for it are dropped). All requests end when the program has
// exited.
import type { Answer, Exchange } from '../exchange.ts';
import { withMember } from '../wire/json-text.ts';
import type { ClientRequest } from '../wire/message.ts';
import { readMessage, type ServerMessage } from '../wire/server-message.ts';
import { type Channel, type ChannelListener, UpstreamDown } from '../upstream.ts';
import { createLoad, createMailbox, type Mailbox } from './mailbox.ts';
import { inClientsWords, inOurWords, numberOf, type Place, placeOf } from './place.ts';

export interface ProgramSession {
  /** Sends a POST or a GET of the session. */
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
 * The maximum size of the messages on the way to all readers, in characters. One message may exceed it. Then the
 * program waits until a reader has read.
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
  const session = new OpenSession();
  session.channel = await open({
    message: (bytes) => session.message(bytes),
    closed: (problem) => {
      session.closed(problem);
      ended();
    },
  });
  return session;
}

class OpenSession implements ProgramSession {
  /** Null until the program has started. */
  channel: Channel | null = null;
  readonly #requests = new Map<number, OpenRequest>();
  readonly #unread = createUnreadMessages();
  readonly #load = createLoad(loadMax);
  /** The stream that the client keeps open without a request. */
  #standing: Mailbox | null = null;
  #last = 0;

  get isIdle(): boolean {
    return this.#standing === null && this.#newestHeard() === null;
  }

  close(): void {
    this.channel?.close();
  }

  async exchange(exchange: Exchange): Promise<Answer> {
    const { method, message, body, signal } = exchange;
    if (method === 'GET') return this.#stand(signal);
    if (message === null || body === null) throw new RangeError('a POST to a program must have a message');
    if (message.kind === 'request') return this.#ask(message, body, exchange);
    if (message.kind === 'notification' && message.method === 'notifications/cancelled')
      await this.#cancel(message.params['requestId'], body);
    else await this.#send(body);
    return accepted;
  }

  /** Handles a message of the program. Resolves when there is capacity for more. */
  message(bytes: Uint8Array): void | Promise<void> {
    const message = readMessage(bytes);
    if (message === null) return undefined;
    if (message.kind !== 'response' && message.method !== 'notifications/progress') {
      const box = this.#boxFor(message);
      return box === null ? this.#unread.add(message.text) : box.put(message.text);
    }
    const number = numberOf(message);
    const place = number === null ? undefined : this.#requests.get(number);
    if (number === null || place === undefined) return undefined;
    const space = place.box.put(inClientsWords(message, place));
    if (message.kind === 'response') {
      this.#requests.delete(number);
      place.box.end();
    }
    return space;
  }

  /** Ends all streams, because the program has exited. */
  closed(problem: string): void {
    for (const { box } of this.#requests.values()) box.end(problem);
    this.#standing?.end(problem);
  }

  #newestHeard(): Mailbox | null {
    return [...this.#requests.values()].findLast(({ isHeard }) => isHeard())?.box ?? null;
  }

  #boxFor({ method }: ServerMessage & { readonly method: string }): Mailbox | null {
    return broadcast.has(method) ? (this.#standing ?? this.#newestHeard()) : (this.#newestHeard() ?? this.#standing);
  }

  #stand(signal: AbortSignal): Answer {
    if (this.#standing !== null) return { status: 409, headers: {}, body: { kind: 'none' } };
    const box = createMailbox(this.#load);
    this.#standing = box;
    for (const text of this.#unread.take()) void box.put(text);
    const events = box.events(signal, () => {
      if (this.#standing === box) this.#standing = null;
    });
    return { status: 200, headers: {}, body: { kind: 'events', events, line: 'session' } };
  }

  async #ask(message: ClientRequest, body: string, exchange: Exchange): Promise<Answer> {
    const { signal, fromClient = false } = exchange;
    const number = (this.#last += 1);
    const place: OpenRequest = { ...placeOf(message, createMailbox(this.#load)), isHeard: () => fromClient && !signal.aborted };
    this.#requests.set(number, place);
    try {
      await this.#send(inOurWords(body, number, place));
    } catch (error) {
      this.#requests.delete(number);
      throw error;
    }
    const events = place.box.events(fromClient ? null : signal, () => void this.#requests.delete(number));
    return { status: 200, headers: {}, body: { kind: 'events', events, line: 'session' } };
  }

  /** Cancels the open request with this id. If there is none, nothing is sent to the program. */
  async #cancel(id: unknown, body: string): Promise<void> {
    const found = [...this.#requests].findLast(([, place]) => place.id === JSON.stringify(id));
    if (found === undefined) return;
    const [number, { box }] = found;
    this.#requests.delete(number);
    box.end();
    await this.#send(withMember(body, ['params', 'requestId'], String(number)));
  }

  async #send(text: string): Promise<void> {
    if (this.channel === null) throw new UpstreamDown('the tool server has not started');
    await sendTo(this.channel, text);
  }
}

export async function sendTo(channel: Channel, text: string): Promise<void> {
  try {
    await channel.send(text);
  } catch (error) {
    throw error instanceof UpstreamDown ? new UpstreamDown(`the tool server ${error.message}`) : error;
  }
}

// Stores messages that a program sends while no reader is connected, for the next reader. A program may send anything
// at any time, so only the newest messages are kept.
interface UnreadMessages {
  add(text: string): void;
  /** Returns all stored messages, oldest first, and clears the store. */
  take(): readonly string[];
}

const countMax = 200;
const lengthMax = 1_048_576;

function createUnreadMessages(): UnreadMessages {
  let texts: string[] = [];
  let length = 0;
  return {
    add: (text) => {
      texts.push(text);
      length += text.length;
      while (texts.length > countMax || length > lengthMax) length -= texts.shift()?.length ?? 0;
    },
    take: () => {
      const all = texts;
      texts = [];
      length = 0;
      return all;
    },
  };
}
