// The MCP proxy. Begin here: this file registers the routes `/mcp/:server`, with or without the workspace as prefix.
// Gate and key are checked before a byte of the body is read. Each refusal is answered as JSON-RPC, and the tool server
// receives nothing.
//
// `door.ts` has what all handlers share, and the data of one request. The folders: `http/` handles HTTP itself, before
// a message is parsed and when events are written. `request/` handles a message from a client and everything that comes
// back for it (POST). `session/` handles the sessions of older revisions (GET, DELETE). `list/` handles the list of
// tools that a caller sees.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { readCallerHeaders } from '../entrance/caller-headers.ts';
import { type Entrance, type LetIn, shownBy } from '../entrance/entrance.ts';
import { heldBy } from '../../engine/govern/run.ts';
import { planeTime } from '../../engine/snapshot/plane-time.ts';
import { type EntranceRefusal, keyStands } from '../entrance/key.ts';
import { boundExchanges, createCallers } from './http/callers.ts';
import type { Door, DoorRequest } from './door.ts';
import { answerError, gateRefusal, refuse, refuseBarred } from './http/gate.ts';
import { readMcpHeaders } from '../../upstream/wire/headers.ts';
import { sendOverHttp } from '../../upstream/http-upstream.ts';
import { handlePost } from './request/post.ts';
import { createProgramUpstreams } from '../../upstream/programs/programs.ts';
import { errorText, RpcRefusal, rpcErrors } from '../../upstream/wire/rpc.ts';
import { createMcpSessions } from './session/sessions.ts';
import { handleDelete, handleGet } from './session/stream.ts';
import { createOpenStreams } from './list/changes.ts';
import type { ToolServer, ToolServers } from '../../upstream/upstream.ts';

interface McpProxyParts extends Entrance {
  readonly servers: ToolServers;
}

interface Params {
  readonly workspace?: string;
  readonly server: string;
}

export function registerMcp(app: FastifyInstance, { servers, ...entrance }: McpProxyParts): void {
  const { sidecar, enter, crowded } = entrance;
  const enterAs = (request: FastifyRequest): LetIn | EntranceRefusal => enter(shownBy(request));
  const programs = createProgramUpstreams({ newId: sidecar.govern.newId });
  const wallTime = (): number => planeTime(sidecar.govern);
  // `callers` is created first. So on a new snapshot, callers without a valid key are disconnected before any stream is
  // notified.
  const callers = createCallers({ cell: sidecar.cell, wallTime });
  const streams = createOpenStreams(sidecar.cell, servers);
  const mcpSessions = createMcpSessions((error) => app.log.error({ err: error }, 'the outcome of a tool call could not be recorded'));
  sidecar.cell.onSwap((index) => mcpSessions.keepOnly(({ keyId }) => keyStands(index, wallTime(), keyId)));
  const door: Door = {
    ...entrance,
    mcpSessions,
    servers,
    streams,
    sendTo: boundExchanges((server, keyId) => {
      const { reach } = server;
      if (reach.kind === 'unreachable') throw new RpcRefusal(503, errorText(null, rpcErrors.internal, `the tool server ${reach.problem}`));
      return reach.kind === 'http' ? sendOverHttp(reach) : programs.sendTo(reach, keyId);
    }),
  };
  app.register(async (scope) => {
    // Only our own strict parser may read the body.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
    scope.addHook('preClose', async () => {
      streams.closeAll();
      programs.close();
      await mcpSessions.endAll();
    });
    for (const url of ['/mcp/:server', '/:workspace/mcp/:server']) {
      scope.route<{ Params: Params }>({
        method: ['POST', 'GET', 'DELETE'],
        url,
        exposeHeadRoute: false,
        config: {
          answerCrowded: (request, reply, full) => {
            const entered = request.letIn ?? enterAs(request);
            if (!('status' in entered)) crowded(entered);
            refuseBarred(reply, 'status' in entered ? entered : full);
          },
        },
        onRequest: async (request, reply) => {
          const refusal = gateRefusal(request);
          if (refusal !== null) return refuse(reply, refusal.status, refusal.problem);
          const entered = enterAs(request);
          if ('status' in entered) return refuseBarred(reply, entered);
          request.letIn = entered;
          return undefined;
        },
        errorHandler: answerError,
        handler: async (request, reply) => {
          const known = request.letIn;
          if (known === null)
            throw new Error('the onRequest hook must check the key before the handler runs, but no caller is stored for this request');
          const caller = callers.watch(reply, known.identity.keyId);
          try {
            const server = servers.find(heldBy(sidecar.cell), request.params.server);
            const asked = askedOf(door, { request, reply, ...known, server, signal: caller.signal });
            if (request.method === 'GET') await handleGet(door, asked);
            else if (request.method === 'DELETE') await handleDelete(door, asked);
            else await handlePost(door, asked, Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0));
          } finally {
            caller.forget();
          }
          return reply;
        },
      });
    }
  });
}

interface LetInWith extends LetIn {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly server: ToolServer | null;
  readonly signal: AbortSignal;
}

function askedOf(door: Door, { request, reply, identity, server, signal }: LetInWith): DoorRequest {
  if (server === null) throw new RpcRefusal(404, errorText(null, rpcErrors.request, 'there is no tool server with the name in the path'));
  const headers = readMcpHeaders(request.raw.headersDistinct);
  if ('problem' in headers) throw new RpcRefusal(400, errorText(null, rpcErrors.headers, headers.problem));
  const caller = readCallerHeaders(request.raw.headersDistinct);
  if ('problem' in caller) throw new RpcRefusal(400, errorText(null, rpcErrors.request, caller.problem));
  return {
    request,
    reply,
    identity,
    caller,
    server,
    headers,
    session: null,
    send: door.sendTo(server, identity.keyId),
    signal,
  };
}
