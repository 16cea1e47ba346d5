// From a tool server's answer to the client's: each message is looked at, treated and written before the next is read.
// What is no message, or none that a server may send, does not arrive.
import { type BodyRoom, NoRoom } from '../body-room.ts';
import { isId } from './wire/message.ts';
import { type Era, isServerNotification, isServerRequest } from './wire/methods.ts';
import type { Pending } from './pending.ts';
import { errorText, type RpcId, rpcErrors } from './wire/rpc.ts';
import { type McpSession, noteQuestion } from './sessions.ts';
import { messageNodes, parseServerMessage, type ServerMessage } from './wire/server-message.ts';
import { eventText, keepAlive, type SseEvent } from './wire/sse.ts';
import { UpstreamDown } from './upstream.ts';
import type { StreamWriter } from './writer.ts';

export interface Relaying {
  readonly era: Era;
  /** The request that is answered; null for a stream that nobody asked a question on. */
  readonly id: RpcId | null;
  /** The request that waits under this id, which then waits no more. */
  take(id: RpcId): Pending | null;
  /** A notification or a question as it may reach the client. */
  passing(message: ServerMessage): string;
  /** The server says that its tools are others now. */
  toolsChanged(): void;
  readonly session: McpSession | null;
  /** The answer may still come on another stream: what waits goes on waiting. */
  readonly inSession: boolean;
  readonly signal: AbortSignal;
  /** For what is read of the answer, which is the caller's. */
  readonly room: Pick<BodyRoom, 'hold'>;
  readonly keyId: string;
}

const noAnswer = 'the tool server did not answer';

/** An answer in one piece: the text to send; null: nothing that a client could read. Throws `UpstreamDown`. */
export async function relayedText(relaying: Relaying, bytes: Uint8Array): Promise<string | null> {
  return withRoom(relaying, bytes, async () => {
    const message = parseServerMessage(decodeText(bytes));
    if (message?.kind !== 'response') throw new UpstreamDown('the tool server answered with what is no JSON-RPC response');
    return treated(relaying, message);
  });
}

/** What is made of a message is there as long as `work` takes. Throws `UpstreamDown` where it finds no room in time. */
async function withRoom<T>({ room, keyId, signal }: Relaying, bytes: Uint8Array, work: () => Promise<T>): Promise<T> {
  const giveBack = await room.hold(keyId, bytes, { most: messageNodes, signal }).catch((error: unknown) => {
    throw error instanceof NoRoom ? new UpstreamDown(`the answer of the tool server was not read: ${error.message}`) : error;
  });
  try {
    return await work();
  } finally {
    giveBack();
  }
}

function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new UpstreamDown('the tool server answered with what is not UTF-8');
  }
}

/** The text that the client gets for a message; null where it gets none. */
async function treated(relaying: Relaying, message: ServerMessage): Promise<string | null> {
  if (message.kind === 'response') {
    // An error without an id is about the request that it is sent for.
    const id = message.id ?? relaying.id;
    const pending = id === null ? null : relaying.take(id);
    return pending === null ? null : pending.settle(message);
  }
  if (message.kind === 'request') {
    if (!isServerRequest(relaying.era, message.method)) return null;
    if (relaying.session !== null) noteQuestion(relaying.session, message.id);
    return relaying.passing(message);
  }
  if (message.method === 'notifications/tools/list_changed') relaying.toolsChanged();
  return isServerNotification(message.method) ? relaying.passing(message) : null;
}

/** Until the server's stream ends or the client is gone. What broke it is told where the client could not come back. */
export async function relayEvents(relaying: Relaying, events: AsyncIterable<SseEvent | null>, writer: StreamWriter): Promise<void> {
  let problem = noAnswer;
  let numbered = false;
  try {
    for await (const event of events) {
      if (relaying.signal.aborted) break;
      numbered ||= event?.id != null;
      await relayEvent(relaying, event, writer);
    }
  } catch (error) {
    if (!relaying.signal.aborted && !(error instanceof UpstreamDown)) throw error;
    if (error instanceof UpstreamDown) problem = error.message;
  }
  // A client that has a number to come back with may still hear the answer.
  if (relaying.id === null || (relaying.inSession && numbered)) return;
  const pending = relaying.take(relaying.id);
  if (pending === null) return;
  const gone = relaying.era === 'modern' ? 'the caller cancelled the call' : 'the caller was gone before the answer';
  await pending.abandon(relaying.signal.aborted ? gone : problem);
  await writer.send(errorText(relaying.id, rpcErrors.internal, problem));
}

async function relayEvent(relaying: Relaying, event: SseEvent | null, writer: StreamWriter): Promise<void> {
  if (event === null) return writer.write(keepAlive);
  if (event.data === null || event.data === '') return writer.write(eventText(event));
  const { data } = event;
  const text = await withRoom(relaying, Buffer.from(data), async () => {
    const message = parseServerMessage(data);
    if (message === null) throw new UpstreamDown('the tool server sent what is no JSON-RPC message');
    return message.kind === 'response' ? answeredText(relaying, event, message) : treated(relaying, message);
  });
  // Its place in the stream stays, so that a client that comes back is told nothing twice.
  if (text !== null) await writer.write(eventText({ ...event, data: text }));
  else if (event.id !== null) await writer.write(eventText({ ...event, data: null }));
}

/** The same answer as before where it is the same event, sent once more because a client came back. */
async function answeredText(relaying: Relaying, { id }: SseEvent, message: ServerMessage): Promise<string | null> {
  const answered = id === null ? undefined : relaying.session?.answered;
  if (id === null || answered === undefined) return treated(relaying, message);
  const before = answered.again(id, message.text);
  if (before !== null) return before;
  const text = await treated(relaying, message);
  if (text !== null) answered.note(id, message.text, text);
  return text;
}

/** The id that a notification of cancelling names. */
export const cancelledId = (params: Readonly<Record<string, unknown>>): RpcId | null =>
  isId(params['requestId']) ? params['requestId'] : null;
