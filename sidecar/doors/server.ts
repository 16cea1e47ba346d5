// Builds the HTTP server of the process, with all endpoints for agents except the mesh endpoints, plus health and
// metrics for operators. `main.ts` runs it.
import { bounds } from '@tollgate/proto/contract';
import {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  LogController,
} from 'fastify';
import type { Registry } from 'prom-client';
import { planeTime } from '../engine/snapshot/plane-time.ts';
import type { Entrance } from './entrance/entrance.ts';
import { publicError } from './errors.ts';
import { type HookStatus, registerHooks } from './hooks/hooks.ts';
import { registerHostHooks } from './coding-agents/host-hooks.ts';
import { hookHostOf } from './hooks/host.ts';
import { callerOf } from './entrance/key.ts';
import { registerMcp } from './mcp/proxy.ts';
import type { ToolServers } from '../upstream/upstream.ts';
import type { HttpTool } from '../upstream/http-tool-definition.ts';
import { shareFairly } from './entrance/share-fairly.ts';

interface ServerParts {
  readonly entrance: Entrance;
  readonly registry: Registry;
  readonly log: FastifyBaseLogger;
  /** The HTTP tools, by name. */
  readonly httpTools?: ReadonlyMap<string, HttpTool>;
  /** The tool servers behind the MCP proxy. Absent: there is no MCP proxy. */
  readonly toolServers?: ToolServers;
  readonly hookStatus?: HookStatus;
  /** Time limit until the whole request has arrived. */
  readonly requestTimeoutMs?: number;
}

export function buildServer({
  entrance,
  registry,
  log,
  httpTools = new Map<string, HttpTool>(),
  toolServers,
  hookStatus = 'decision',
  requestTimeoutMs = 10_000,
}: ServerParts): FastifyInstance {
  const { sidecar } = entrance;
  const app = fastify({
    loggerInstance: log,
    // Request lines are not logged: health checks would flood the log, and a URL may hold data that must not be logged.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: bounds.bodyBytes,
    // Log lines do not identify single requests, so no request needs its own logger.
    childLoggerFactory: (logger) => logger,
    requestTimeout: requestTimeoutMs,
    // If `headersTimeout` is longer than `requestTimeout`, Node exchanges the two values. By default Node checks these
    // timeouts only every 30 s.
    http: { headersTimeout: requestTimeoutMs / 2, connectionsCheckingInterval: requestTimeoutMs / 10 },
    keepAliveTimeout: 75_000,
    // Requests that arrive during shutdown are answered normally. Clients in use make the call if they receive a 503.
    return503OnClosing: false,
    routerOptions: { maxParamLength: 1_000 },
    ajv: { customOptions: { removeAdditional: false, coerceTypes: false } },
  });
  const { cell, clock } = sidecar.govern;
  shareFairly(app, {
    clock,
    missing: answerMissing,
    bodies: entrance.bodies,
    whose: (authorization) => callerOf(cell.current, planeTime(sidecar.govern), authorization),
  });
  app.setErrorHandler<FastifyError>((error, _request, reply) => {
    const { status, message } = publicError(error);
    if (status >= 500) log.error({ err: error }, 'a request failed with a server error');
    return reply.code(status).send({ error: message });
  });
  const first = { config: { takesNoTurn: true } } as const;
  app.get('/healthz', first, () => ({
    ok: true,
    policy: sidecar.cell.status(),
    audit: sidecar.shipping(),
    limits: sidecar.leasing.status(),
  }));
  app.get('/readyz', first, (_request, reply) => {
    const reasons = sidecar.notReady();
    return reply.code(reasons.length === 0 ? 200 : 503).send(reasons.length === 0 ? { ok: true } : { error: reasons.join('; '), reasons });
  });
  app.get('/metrics', async (_request, reply) => reply.type(registry.contentType).send(await registry.metrics()));
  registerHooks(app, hookHostOf(entrance), { publicError, status: hookStatus });
  // This door is loaded only if the gateway file has HTTP tools. If it cannot be loaded, the server does not listen.
  if (httpTools.size > 0)
    void app.register(async (scope) => {
      const { registerHttpTools } = await import('./http/http-tools.ts');
      registerHttpTools(scope, { ...entrance, tools: httpTools });
    });
  registerHostHooks(app, entrance);
  if (toolServers !== undefined) registerMcp(app, { ...entrance, servers: toolServers });
  return app;
}

function answerMissing({ method, url }: FastifyRequest, reply: FastifyReply): void {
  void reply.code(404).send({ error: `there is no ${method} ${url.split('?')[0]}` });
}
