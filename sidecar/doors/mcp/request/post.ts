// The folder request/ handles one message from a client and everything that comes back for it. Begin with `handlePost`
// below: it parses the message and checks it against the allow-list. A message that gets no answer is forwarded here,
// in canonical form. For requests, which get an answer: `request.ts` handles one request from the key to the answer,
// `prepare.ts` prepares each kind of request before the server receives it, `call.ts` decides calls and reads,
// `relay.ts` relays the answer, `redaction.ts` redacts all other messages, and `pending.ts` has the types of a request
// that waits for its answer.
import { type Door, type DoorRequest, runFor, unnamed, withoutSession, withSession } from '../door.ts';
import { sendOnly } from '../../../upstream/exchange.ts';
import { eraOf, modernVersion, requestHeaders } from '../../../upstream/wire/headers.ts';
import {
  type BadMessage,
  type ClientMessage,
  type ClientRequest,
  isId,
  messageText,
  parseMessage,
} from '../../../upstream/wire/message.ts';
import { type Era, isClientNotification } from '../../../upstream/wire/methods.ts';
import { answerBy } from './redaction.ts';
import { handleRequest } from './request.ts';
import { errorText, RpcRefusal, rpcErrors } from '../../../upstream/wire/rpc.ts';
import { waitingKey } from '../session/sessions.ts';
import { forgetUnknown } from '../session/stream.ts';

export async function handlePost(door: Door, letIn: DoorRequest, body: Uint8Array): Promise<void> {
  const message = parseMessage(body);
  if ('bad' in message) throw refusedMessage(message.bad);
  const era = eraOf(message, letIn.headers);
  if ('bad' in era) throw refusedMessage(era.bad);
  const asked = era.era === 'legacy' ? withSession(door, letIn) : withoutSession(letIn);
  if (message.kind === 'request') return handleRequest(door, asked, era.era, message);
  if (message.kind === 'notification' && !isClientNotification(era.era, message.method))
    throw new RpcRefusal(400, errorText(null, rpcErrors.method, 'Method not found: this notification is not forwarded'));
  await passOn(door, asked, era.era, message);
}

function refusedMessage({ code, problem, id, requested }: BadMessage): RpcRefusal {
  const data = requested === undefined ? undefined : { supported: [modernVersion], requested };
  return new RpcRefusal(400, errorText(id, code, problem, data));
}

/** Forwards a message that gets no answer. */
async function passOn(door: Door, asked: DoorRequest, era: Era, message: Exclude<ClientMessage, ClientRequest>): Promise<void> {
  const { headers, signal, reply } = asked;
  refuseUnasked(asked, message);
  const body = messageText(message.kind === 'response' ? answered(door, asked, message) : message);
  // The cancelled call is abandoned before the notification is sent, because the notification may not reach the server.
  if (message.kind === 'notification' && message.method === 'notifications/cancelled') await abandonCancelled(asked, message.params);
  const answer = await sendOnly(asked.send, { era, method: 'POST', headers: requestHeaders(era, message, headers), message, body, signal });
  await forgetUnknown(door, asked, answer.status);
  await reply.code(answer.status).headers(answer.headers).send();
}

/**
 * Refuses an answer that the server did not ask for, and a cancellation outside of a session. Ids are valid only within
 * a session. Outside a session, an id could name a request of another caller.
 */
function refuseUnasked({ session }: DoorRequest, message: Exclude<ClientMessage, ClientRequest>): void {
  const refused = (problem: string): RpcRefusal => new RpcRefusal(400, errorText(null, rpcErrors.request, problem));
  if (message.kind === 'response') {
    if (session === null) throw refused('Mcp-Session-Id is missing: it must name the session whose server sent the request');
    if (!session.questions.delete(waitingKey(message.id))) throw refused('the server sent no request with this id in the session');
  } else if (message.method === 'notifications/cancelled' && session === null)
    throw refused('Mcp-Session-Id is missing: without a session, a request is cancelled by closing its connection');
}

async function abandonCancelled({ session }: DoorRequest, params: Readonly<Record<string, unknown>>): Promise<void> {
  const id = params['requestId'];
  if (!isId(id)) return;
  session?.holding.get(waitingKey(id))?.cancel();
  await session?.waiting.get(waitingKey(id))?.abandon('the caller cancelled the call');
}

type Response = ClientMessage & { readonly kind: 'response' };

/** Returns a client's answer to a question of the server, redacted like any other input. */
function answered(door: Door, asked: DoorRequest, message: Response): Response {
  const { result } = message.body;
  if (result === undefined) return message;
  return { ...message, body: { ...message.body, result: answerBy(runFor(door, asked, unnamed), asked.server, result) } };
}
