// Defines types and helpers that all parts of the MCP proxy share, and the data of one request after its key was
// accepted.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { nameProblem } from '@tollgate/proto/contract';
import type { GovernedRun } from '../../engine/govern/run.ts';
import { type CallerHeaders, claimedBy } from '../entrance/caller-headers.ts';
import type { Entrance, LetIn } from '../entrance/entrance.ts';
import { catalogOf } from './list/catalog.ts';
import type { Send } from '../../upstream/exchange.ts';
import type { McpHeaders } from '../../upstream/wire/headers.ts';
import type { Viewer } from './list/list.ts';
import { isFields } from '../../upstream/wire/message.ts';
import { errorText, RpcRefusal, rpcErrors } from '../../upstream/wire/rpc.ts';
import type { Client, McpSession, McpSessions } from './session/sessions.ts';
import type { OpenStreams } from './list/changes.ts';
import type { ToolServer, ToolServers } from '../../upstream/upstream.ts';

export interface Door extends Entrance {
  readonly mcpSessions: McpSessions;
  readonly streams: OpenStreams;
  readonly servers: ToolServers;
  readonly sendTo: (server: ToolServer, keyId: string) => Send;
}

export interface DoorRequest extends LetIn {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly caller: CallerHeaders;
  readonly server: ToolServer;
  readonly headers: McpHeaders;
  /** The session, for revisions that have sessions. Null: the request names none, or the server has none. */
  readonly session: McpSession | null;
  readonly send: Send;
  /** Aborted when the client has disconnected or its key is no longer valid. */
  readonly signal: AbortSignal;
}

export function runFor({ sessions }: Door, { identity, caller, headers, session }: DoorRequest, client: Client): GovernedRun {
  const said = { client: session?.client ?? client, sessionId: headers.sessionId ?? identity.keyId };
  return sessions.find(identity, claimedBy(caller, said)).run;
}

export const viewerOf = ({ sidecar }: Door, { server }: DoorRequest, run: GovernedRun): Viewer => ({
  govern: sidecar.govern,
  run,
  server,
  catalog: catalogOf(server),
});

/** Used for a client that does not name itself. */
export const unnamed: Client = { name: 'mcp' };

/** Returns the name that a client gives itself. If it is not valid in an agent type, returns `unnamed`. */
export function clientFrom(info: unknown): Client {
  if (!isFields(info)) return unnamed;
  const { name, version } = info;
  if (typeof name !== 'string' || nameProblem(name) !== null || name.includes('::')) return unnamed;
  return typeof version === 'string' && nameProblem(version) === null ? { name, version } : { name };
}

/**
 * Adds the session that the request names. Throws `RpcRefusal` if that session does not exist. The client then starts a
 * new session, as the protocol requires.
 */
export function withSession({ mcpSessions }: Door, asked: DoorRequest): DoorRequest {
  const { headers, server, identity } = asked;
  if (headers.sessionId === null) return asked;
  const session = mcpSessions.find(server.name, headers.sessionId, identity);
  if (session === null) throw new RpcRefusal(404, errorText(null, rpcErrors.request, 'Session not found'));
  return { ...asked, session };
}

/** Removes the session id from a request. The newest revision has no sessions, so the id is ignored. */
export const withoutSession = (asked: DoorRequest): DoorRequest =>
  asked.headers.sessionId === null ? asked : { ...asked, headers: { ...asked.headers, sessionId: null } };
