// Relays a tool server's answer to the client. Each message is checked, processed and written before the next one is
// read. Text that is not a message, or not a message that a server may send, is not forwarded.
import { type BodyMemory, MemoryIsFull } from '../../entrance/body-memory.ts';
import { type Era, isServerNotification, isServerRequest } from '../../../upstream/wire/methods.ts';
import type { Pending } from './pending.ts';
import { errorText, type RpcId, rpcErrors } from '../../../upstream/wire/rpc.ts';
import { type McpSession, noteQuestion } from '../session/sessions.ts';
import { messageNodes, parseServerMessage, type ServerMessage } from '../../../upstream/wire/server-message.ts';
import { eventText, keepAlive, type SseEvent } from '../../../upstream/wire/sse.ts';
import { UpstreamDown } from '../../../upstream/upstream.ts';
import type { StreamWriter } from '../http/writer.ts';

export interface Relaying {
  readonly era: Era;
  /** The id of the request that is answered. Null: the stream answers no request. */
  readonly id: RpcId | null;
  /** Takes the pending request with this id. It is no longer pending afterwards. */
  take(id: RpcId): Pending | null;
  /** Returns the text of a notification or question in the form that the client may receive. */
  passing(message: ServerMessage): string;
  /** Called when the server reports that its tools have changed. */
  toolsChanged(): void;
  readonly session: McpSession | null;
  /** True: the answer may still come on another stream, so the request stays pending. */
  readonly inSession: boolean;
  readonly signal: AbortSignal;
  /** Memory for the parsed answer. Its bytes are counted for `keyId`. */
  readonly memory: Pick<BodyMemory, 'hold'>;
  readonly keyId: string;
}

const noAnswer = 'the tool server did not answer';

/**
 * Relays an answer in one piece. Returns the text to send, or null if the client receives nothing. Throws
 * `UpstreamDown` if the answer cannot be read or is not a response.
 */
export async function relayedText(relaying: Relaying, bytes: Uint8Array): Promise<string | null> {
  const giveBack = await holdMemory(relaying, bytes);
  try {
    const message = parseServerMessage(decodeText(bytes));
    if (message?.kind !== 'response') throw new UpstreamDown('the answer of the tool server is not a JSON-RPC response');
    return await treated(relaying, message);
  } finally {
    giveBack();
  }
}

/**
 * Holds memory for a message that will be parsed. Resolves with a function that gives it back. Throws `UpstreamDown` if
 * there is no memory in time.
 */
async function holdMemory({ memory, keyId, signal }: Relaying, bytes: Uint8Array): Promise<() => void> {
  try {
    return await memory.hold(keyId, bytes, { most: messageNodes, signal });
  } catch (error) {
    throw error instanceof MemoryIsFull ? new UpstreamDown(`the answer of the tool server was not read: ${error.message}`) : error;
  }
}

function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new UpstreamDown('the answer of the tool server is not UTF-8');
  }
}

/** Handles one message. Returns the text that the client receives for it. Null: the client receives nothing. */
async function treated(relaying: Relaying, message: ServerMessage): Promise<string | null> {
  if (message.kind === 'response') {
    // An error without an id concerns the request that this stream answers.
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

/**
 * Relays until the server's stream ends or the client has disconnected. If the stream breaks and the client cannot
 * resume it, the client receives the reason.
 */
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
  // A client that has an event id can resume the stream, and may still receive the answer.
  if (relaying.id === null || (relaying.inSession && numbered)) return;
  const pending = relaying.take(relaying.id);
  if (pending === null) return;
  const gone = relaying.era === 'modern' ? 'the caller cancelled the call' : 'the caller closed the connection before the answer';
  await pending.abandon(relaying.signal.aborted ? gone : problem);
  await writer.send(errorText(relaying.id, rpcErrors.internal, problem));
}

async function relayEvent(relaying: Relaying, event: SseEvent | null, writer: StreamWriter): Promise<void> {
  if (event === null) return writer.write(keepAlive);
  if (event.data === null || event.data === '') return writer.write(eventText(event));
  const { data } = event;
  const giveBack = await holdMemory(relaying, Buffer.from(data));
  let text: string | null;
  try {
    const message = parseServerMessage(data);
    if (message === null) throw new UpstreamDown('the tool server sent something that is not a JSON-RPC message');
    text = await (message.kind === 'response' ? answeredText(relaying, event, message) : treated(relaying, message));
  } finally {
    giveBack();
  }
  // The event id is kept, so a client that resumes receives nothing twice.
  if (text !== null) await writer.write(eventText({ ...event, data: text }));
  else if (event.id !== null) await writer.write(eventText({ ...event, data: null }));
}

/**
 * Returns the earlier answer if the server sends the same event again because a client resumed its stream. Otherwise
 * handles the message.
 */
async function answeredText(relaying: Relaying, { id }: SseEvent, message: ServerMessage): Promise<string | null> {
  const answered = id === null ? undefined : relaying.session?.answered;
  if (id === null || answered === undefined) return treated(relaying, message);
  const before = answered.again(id, message.text);
  if (before !== null) return before;
  const text = await treated(relaying, message);
  if (text !== null) answered.note(id, message.text, text);
  return text;
}
