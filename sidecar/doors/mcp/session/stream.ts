// Handles the requests that carry no message, in the revisions before 2026-07-28. GET opens a stream for server
// messages, or resumes a broken one. DELETE ends a session.
import { passingInSession } from '../request/redaction.ts';
import { type Door, type DoorRequest, runFor, unnamed, viewerOf, withSession } from '../door.ts';
import { type Exchange, type Send, sendOnly } from '../../../upstream/exchange.ts';
import { streamHeaders } from '../../../upstream/wire/headers.ts';
import { type Relaying, relayEvents } from '../request/relay.ts';
import { errorText, RpcRefusal, rpcErrors } from '../../../upstream/wire/rpc.ts';
import { takeWaiting } from './sessions.ts';
import { openWriter } from '../http/writer.ts';

const endMs = 10_000;

const listChanged = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });

export async function handleGet(door: Door, letIn: DoorRequest): Promise<void> {
  const asked = withSession(door, letIn);
  const { session, headers, reply, signal, send, server } = asked;
  const {
    status,
    headers: answered,
    body,
  } = await send({
    era: 'legacy',
    method: 'GET',
    headers: streamHeaders(headers),
    message: null,
    body: null,
    signal,
  });
  if (body.kind !== 'events') {
    await forgetUnknown(door, asked, status);
    return void (await reply
      .code(status >= 400 ? status : 502)
      .headers(answered)
      .send(errorText(null, rpcErrors.internal, 'the tool server opens no stream')));
  }
  const run = runFor(door, asked, unnamed);
  const viewer = viewerOf(door, asked, run);
  const writer = openWriter(reply, status, answered, signal);
  const passing = passingInSession(run, server, session);
  const relaying: Relaying = {
    era: 'legacy',
    id: null,
    // An answer can come here if the stream of its request broke.
    take: (id) => takeWaiting(session, id),
    passing: ({ text }) => passing(text),
    toolsChanged: () => viewer.catalog.expire(),
    session,
    inSession: true,
    signal,
    memory: door.bodies,
    keyId: asked.identity.keyId,
  };
  const { remove } = door.streams.add({
    viewer,
    notification: () => listChanged,
    write: (text) => void writer.send(text),
    close: () => writer.end(),
  });
  try {
    await relayEvents(relaying, body.events, writer);
  } finally {
    remove();
    writer.end();
  }
}

export async function handleDelete(door: Door, letIn: DoorRequest): Promise<void> {
  const asked = withSession(door, letIn);
  const { headers, signal, reply, server } = asked;
  if (headers.sessionId === null)
    throw new RpcRefusal(
      400,
      errorText(null, rpcErrors.request, 'the header Mcp-Session-Id is missing; it must name the session that the request ends'),
    );
  const { status, headers: answered } = await sendOnly(asked.send, {
    era: 'legacy',
    method: 'DELETE',
    headers: streamHeaders(headers),
    message: null,
    body: null,
    signal,
  });
  if (status < 300) await door.mcpSessions.end(server.name, headers.sessionId);
  await forgetUnknown(door, asked, status);
  await reply.code(status).headers(answered).send();
}

export async function forgetUnknown({ mcpSessions }: Door, { headers, server }: DoorRequest, status: number): Promise<void> {
  if (status === 404 && headers.sessionId !== null) await mcpSessions.end(server.name, headers.sessionId);
}

/**
 * Ends a session at the tool server when no caller is left. Errors are ignored: a server also ends sessions of clients
 * that have disappeared.
 */
export function endSession(send: Send, headers: Exchange['headers']): void {
  const signal = AbortSignal.timeout(endMs);
  sendOnly(send, {
    era: 'legacy',
    method: 'DELETE',
    headers,
    message: null,
    body: null,
    signal,
  }).catch(() => undefined);
}
