// What the parts of the MCP proxy have in common, and what is known of one request once its key is known to be good.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GovernedRun } from '../../govern/run.ts';
import { type CallerHeaders, claimedBy } from '../caller-headers.ts';
import type { Entrance, LetIn } from '../entrance.ts';
import { catalogOf } from './catalog.ts';
import type { Send } from './exchange.ts';
import type { McpHeaders } from './wire/headers.ts';
import type { Viewer } from './list.ts';
import { errorText, Refused, rpcErrors } from './wire/rpc.ts';
import type { Client, McpSession, McpSessions } from './sessions.ts';
import type { OpenStreams } from './streams.ts';
import type { ToolServer } from './upstream.ts';

export interface Door extends Entrance {
  readonly mcpSessions: McpSessions;
  readonly streams: OpenStreams;
  readonly sendTo: (server: ToolServer, keyId: string) => Send;
}

export interface Asked extends LetIn {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly caller: CallerHeaders;
  readonly server: ToolServer;
  readonly headers: McpHeaders;
  /** Of the revisions that have sessions; null: none is named, or the server has none. */
  readonly session: McpSession | null;
  readonly send: Send;
  /** Aborted once the client is gone. */
  readonly signal: AbortSignal;
}

export function runFor({ sessions }: Door, { identity, caller, headers, session }: Asked, client: Client): GovernedRun {
  const said = { client: session?.client ?? client, sessionId: headers.sessionId ?? identity.keyId };
  return sessions.find(identity, claimedBy(caller, said)).run;
}

export const viewerOf = ({ sidecar }: Door, { server }: Asked, run: GovernedRun): Viewer => ({
  govern: sidecar.govern,
  run,
  server,
  catalog: catalogOf(server),
});

/** With the session that it names. Throws `Refused` where there is none: the client begins a new one, as the protocol says. */
export function withSession({ mcpSessions }: Door, asked: Asked): Asked {
  const { headers, server, identity } = asked;
  if (headers.sessionId === null) return asked;
  const session = mcpSessions.find(server.name, headers.sessionId, identity);
  if (session === null) throw new Refused(404, errorText(null, rpcErrors.request, 'Session not found'));
  return { ...asked, session };
}

/** The newest revision has no sessions: whatever names one is not read. */
export const withoutSession = (asked: Asked): Asked => ({ ...asked, headers: { ...asked.headers, sessionId: null } });
