// Handles one request from a client. The request is decided or passed according to its method, forwarded in canonical
// form, and answered once, on this stream or on another stream of its session.
import type { GovernedRun } from '../../../engine/govern/run.ts';
import { clientFrom, type Door, type DoorRequest, runFor, viewerOf } from '../door.ts';
import { catalogOf } from '../list/catalog.ts';
import type { Answer } from '../../../upstream/exchange.ts';
import { endHeaders, requestHeaders } from '../../../upstream/wire/headers.ts';
import { type ClientRequest, isFields, messageText } from '../../../upstream/wire/message.ts';
import type { Era } from '../../../upstream/wire/methods.ts';
import { passingInSession } from './redaction.ts';
import { HeldRequest } from './held.ts';
import type { Pending } from './pending.ts';
import { prepare } from './prepare.ts';
import { type Relaying, relayEvents, relayedText } from './relay.ts';
import { errorText, type RpcId, RpcRefusal, rpcErrors } from '../../../upstream/wire/rpc.ts';
import { addWaiting, type McpSession, noteAbandoned, removeWaiting, takeWaiting, waitingKey } from '../session/sessions.ts';
import { endSession, forgetUnknown } from '../session/stream.ts';
import { UpstreamDown } from '../../../upstream/upstream.ts';
import { openWriter } from '../http/writer.ts';

export async function handleRequest(door: Door, asked: DoorRequest, era: Era, message: ClientRequest): Promise<void> {
  const held = new HeldRequest(asked, message);
  try {
    await answerRequest(door, asked, era, message, held);
  } catch (error) {
    if (!(await held.answerError(error))) throw error;
  } finally {
    held.end();
  }
}

async function answerRequest(door: Door, asked: DoorRequest, era: Era, message: ClientRequest, held: HeldRequest): Promise<void> {
  const { session, headers, reply, signal } = asked;
  refuseKnownId(session, message.id);
  const run = runFor(door, asked, clientFrom(clientInfoOf(era, message)));
  const prepared = await prepare(door, asked, { era, message, run, held });
  if (session?.waiting.has(waitingKey(message.id)) === true) {
    await prepared.pending.abandon('its id is already in use');
    refuseKnownId(session, message.id);
  }
  const { pending, relaying } = waitFor(door, asked, { era, message, prepared: prepared.pending });
  const named = requestHeaders(era, prepared.message, headers, prepared.declared);
  try {
    const answer = await asked.send({
      era,
      method: 'POST',
      headers: prepared.trace === undefined ? named : { ...named, ...prepared.trace },
      message: prepared.message,
      body: messageText(prepared.message),
      signal: relaying.signal,
      fromClient: true,
    });
    await noteSession(door, asked, message, answer);
    await relay(door, asked, { relaying, answer, pending, run, held });
  } catch (error) {
    if (relaying.take(message.id) !== null)
      await pending.abandon(error instanceof UpstreamDown ? error.message : 'the call was interrupted');
    // If the request was abandoned, the status is 200, because an error status would make a client send the request
    // again.
    const status = relaying.signal.aborted && !signal.aborted ? 200 : 502;
    if (error instanceof UpstreamDown && !reply.sent)
      throw new RpcRefusal(status, errorText(message.id, rpcErrors.internal, error.message));
    throw error;
  }
}

/**
 * Refuses a request with an id that the session has already used for a pending or abandoned request. Their answers
 * could be confused.
 */
function refuseKnownId(session: McpSession | null, id: RpcId): void {
  const refused = (problem: string): RpcRefusal => new RpcRefusal(400, errorText(id, rpcErrors.request, problem));
  const key = waitingKey(id);
  if (session?.waiting.has(key) === true || session?.holding.has(key) === true)
    throw refused('a request with this id is in progress in the session');
  if (session?.abandoned.has(key) === true) throw refused('a request with this id was abandoned in the session; use another id');
}

interface UnderWay extends Relaying {
  /** Returns a signal that is aborted when the request is abandoned, and not when its client disconnects. */
  readonly abandoned: () => AbortSignal;
}

interface Waiting {
  readonly era: Era;
  readonly message: ClientRequest;
  readonly prepared: Pending;
}

/** Registers the request as pending. Only one answer can take the pending request. */
function waitFor(
  door: Door,
  asked: DoorRequest,
  { era, message, prepared }: Waiting,
): { readonly pending: Pending; readonly relaying: UnderWay } {
  const { session, signal } = asked;
  const key = waitingKey(message.id);
  // The session keeps these variables in memory while the request is pending. So neither the request nor its input is
  // among them.
  const catalog = catalogOf(asked.server);
  // Only a session can abandon a request while its client waits.
  const stop = session === null ? null : stopWith(signal);
  let abandoned: UpstreamDown | null = null;
  let onlyAbandoned: AbortController | null = null;
  let own: Pending | null = prepared;
  const pending: Pending = {
    ...prepared,
    // An answer that comes later belongs to no request, so the stream of this request is ended.
    abandon: (why) => {
      own = null;
      abandoned = new UpstreamDown(why);
      if (session !== null) noteAbandoned(session, key);
      stop?.abort(abandoned);
      onlyAbandoned?.abort(abandoned);
      return prepared.abandon(why);
    },
  };
  if (session !== null) addWaiting(session, key, pending);
  const relaying: UnderWay = {
    era,
    id: message.id,
    take: (id) => {
      if (waitingKey(id) === key) {
        const mine = own === null ? null : pending;
        own = null;
        if (session !== null) removeWaiting(session, key);
        return mine;
      }
      return takeWaiting(session, id);
    },
    passing: ({ text }) => pending.passing(text),
    toolsChanged: () => catalog.expire(),
    session,
    inSession: session !== null,
    signal: stop?.signal ?? signal,
    abandoned: () => {
      onlyAbandoned ??= new AbortController();
      if (abandoned !== null) onlyAbandoned.abort(abandoned);
      return onlyAbandoned.signal;
    },
    memory: door.bodies,
    keyId: asked.identity.keyId,
  };
  return { pending, relaying };
}

/** Returns a controller that is aborted together with the signal. `AbortSignal.any` takes three times as long. */
function stopWith(signal: AbortSignal): AbortController {
  const stop = new AbortController();
  const follow = (): void => stop.abort(signal.reason);
  if (signal.aborted) follow();
  else signal.addEventListener('abort', follow, { once: true });
  return stop;
}

const clientInfoOf = (era: Era, { method, params }: ClientRequest): unknown => {
  if (era === 'legacy') return method === 'initialize' ? params['clientInfo'] : undefined;
  const meta = params['_meta'];
  return isFields(meta) ? meta['io.modelcontextprotocol/clientInfo'] : undefined;
};

async function noteSession(
  door: Door,
  asked: DoorRequest,
  { method, params }: ClientRequest,
  { status, headers: answered }: Answer,
): Promise<void> {
  const { server, identity, headers, send } = asked;
  const id = answered['mcp-session-id'];
  if (method === 'initialize' && id !== undefined && status < 300) {
    const ending = endHeaders(headers, id);
    door.mcpSessions.begin(server.name, id, {
      owner: identity,
      client: clientFrom(params['clientInfo']),
      endAtServer: () => endSession(send, ending),
    });
  } else await forgetUnknown(door, asked, status);
}

interface RelayedAnswer {
  readonly relaying: UnderWay;
  readonly answer: Answer;
  readonly pending: Pending;
  readonly run: GovernedRun;
  readonly held: HeldRequest;
}

async function relay(door: Door, asked: DoorRequest, { relaying, answer, pending, run, held }: RelayedAnswer): Promise<void> {
  const { reply, signal } = asked;
  const { status, headers, body } = answer;
  if (body.kind === 'events') {
    const writer = held.writer ?? openWriter(reply, status, headers, signal);
    const listening = pending.listening?.(writer);
    const added = listening === undefined ? null : door.streams.add({ viewer: viewerOf(door, asked, run), ...listening });
    try {
      await relayEvents(body.line === 'session' ? onOneLine(asked, relaying, run) : relaying, body.events, writer);
    } finally {
      added?.remove();
      writer.end();
    }
    return;
  }
  const text = body.kind === 'json' ? await relayedText(relaying, body.bytes) : null;
  if (text !== null && held.writer !== null) return held.writer.send(text);
  if (text !== null) await reply.code(status).headers(headers).type('application/json').send(text);
  else if (status < 400) throw new UpstreamDown('the tool server did not answer the request');
  else {
    if (relaying.id !== null) await relaying.take(relaying.id)?.abandon('the tool server refused the request');
    if (held.writer !== null) throw new UpstreamDown('the tool server refused the request');
    await reply.code(status).headers(headers).send();
  }
}

/**
 * Returns the relaying for a session with one channel. On such a channel only progress messages name their request, and
 * the answer comes on no other stream.
 */
function onOneLine({ session, server }: DoorRequest, relaying: UnderWay, run: GovernedRun): Relaying {
  const ofAny = passingInSession(run, server, session);
  return {
    ...relaying,
    passing: (message) => {
      const passed = relaying.passing(message);
      return message.kind === 'notification' && message.method === 'notifications/progress' ? passed : ofAny(passed);
    },
    inSession: false,
    signal: relaying.abandoned(),
  };
}
