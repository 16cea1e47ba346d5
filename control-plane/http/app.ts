// Builds the REST API. The program that calls `createApp` makes it listen. Every answer that is not 2xx is `{error}`.
import cookie from '@fastify/cookie';
import { AppError, bounds } from '@tollgate/proto/contract';
import { BodyMemory, shareFairly } from '@tollgate/sidecar/hooks';
import { Ajv } from 'ajv';
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { refusalOf } from '../base/errors.ts';
import { parseBody } from './json-body.ts';
import { sessionCookieOf } from './cookies.ts';
import { observeRequests } from './metrics.ts';
import type { AppDeps } from './deps.ts';
import { addConsole } from './console.ts';
import { addApiDocument } from './openapi.ts';
import { logRefusal, sendRefusal } from './refuse.ts';
import { createOpenStreams } from './streams.ts';
import { tlsOptions } from './tls.ts';
import { shownKeyword } from './shapes.ts';
import { addAgentRoutes } from '../agents/routes/agents.ts';
import { addApprovalRoutes } from '../approvals/routes/approvals.ts';
import { addChannelRoutes } from '../channels/routes/channels.ts';
import { addAuditRoutes } from '../audit/routes/audit.ts';
import { addAuthorityRoutes } from '../certificates/routes.ts';
import { addExplainRoute } from '../policies/routes/explain.ts';
import { addHealthRoutes } from './health.ts';
import { addHookRoutes } from '../hooks/routes.ts';
import { addKeyRoutes } from '../access/routes/keys.ts';
import { addMemberRoutes } from '../access/routes/members.ts';
import { addModelRoutes } from '../agents/routes/models.ts';
import { addPolicyRoutes } from '../policies/routes/policies.ts';
import { addRedactionRoute } from '../policies/routes/redaction.ts';
import { addRunRoutes } from '../runs/routes.ts';
import { addSessionRoutes } from '../access/routes/sessions.ts';
import { addSidecarRoutes } from '../sidecars/routes.ts';
import { addSignInRoutes } from '../access/routes/sign-in.ts';
import { addPolicySetRoutes } from '../policies/routes/policy-sets.ts';
import { addToolServerRoutes } from '../tool-servers/routes.ts';
import { addSimulateRoute } from '../policies/routes/simulate.ts';
import { addStatisticsRoutes } from '../statistics/routes.ts';
import { addUsageRoute } from '../audit/routes/usage.ts';
import { addWorkspaceRoutes } from '../workspaces/routes.ts';

/**
 * 8192 characters fit the longest agent-type key with every character escaped. With its default of 100, Fastify would
 * answer 414.
 */
const pathParameterMax = 8192;
const requestTimeoutMs = 30_000;

/** The API rejects invalid input. It must not remove or convert any of it, which are Ajv's defaults. */
const requestSchemas = new Ajv({ allErrors: true, keywords: [shownKeyword] });

export function createApp(deps: AppDeps): FastifyInstance {
  // If `headersTimeout` is longer than `requestTimeout`, Node swaps the two values. By default Node checks connections
  // only every 30 s.
  const timeouts = { headersTimeout: requestTimeoutMs / 2, connectionsCheckingInterval: requestTimeoutMs / 10 };
  const app: FastifyInstance = fastify({
    loggerInstance: deps.log,
    // Fastify's own log lines would contain raw URLs. `metrics.ts` writes our lines.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: bounds.bodyBytes,
    requestTimeout: requestTimeoutMs,
    ...(deps.tls === null ? { http: timeouts } : { https: tlsOptions(deps.tls, timeouts) }),
    routerOptions: { maxParamLength: pathParameterMax },
    frameworkErrors: (error, _request, reply) => void sendRefusal(reply, refusalOf(error)),
    // This code answers requests itself while the server closes. Fastify would answer 503, and hook clients make the
    // tool call when they receive 503.
    return503OnClosing: false,
  });
  // A caller may start two requests in each turn, because a request spends most of its time here waiting for the
  // database.
  shareFairly(app, {
    missing: answerMissing(app),
    clock: { now: () => deps.clock().getTime() },
    perTurn: 2,
    // This is the memory budget for request bodies. When it is full, the parsed bodies use at most about 220 MB of
    // heap.
    bodies: new BodyMemory({ bytes: 8 * bounds.policySetBytes, valueBytes: 128 }),
    unknownBytes: 8 * bounds.bodyBytes,
  });
  refuseWhileClosing(app);
  app.removeAllContentTypeParsers();
  // A body is parsed only after the memory budget has space for its parsed value.
  const unparsed = new WeakSet<FastifyRequest>();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, bytes: Buffer) => {
    unparsed.add(request);
    return bytes;
  });
  app.addHook('preValidation', async (request) => {
    const { body, routeOptions } = request;
    if (!unparsed.has(request) || !Buffer.isBuffer(body)) return;
    request.body = parseBody(
      body,
      (routeOptions.bodyLimit ?? bounds.bodyBytes) > bounds.bodyBytes ? bounds.policySetNodes : bounds.jsonNodes,
    );
  });
  app.setErrorHandler((error, request, reply) => {
    const refusal = refusalOf(error, request.routeOptions.bodyLimit);
    logRefusal(request, refusal);
    return sendRefusal(reply, refusal);
  });
  const streaming = { ...deps, streams: createOpenStreams(deps.streamBounds), countBroken: observeRequests(app, deps.registry) };
  void app.register(cookie);
  void app.register(async (api) => {
    // Fastify's own compiler serializes all schemas of the document, once for each route.
    api.setValidatorCompiler(({ schema }) => requestSchemas.compile(schema));
    await addApiDocument(api, { operator: deps.config.operatorKey !== null, cookie: sessionCookieOf(deps) });
    await addConsole(api, deps.consoleFolder);
    addHealthRoutes(api, deps);
    addHookRoutes(api, deps);
    addAgentRoutes(api, deps);
    addRunRoutes(api, streaming);
    addPolicyRoutes(api, deps);
    addPolicySetRoutes(api, deps);
    addExplainRoute(api, deps);
    addRedactionRoute(api, deps);
    addSimulateRoute(api, streaming);
    addUsageRoute(api, deps);
    addStatisticsRoutes(api, deps);
    addAuditRoutes(api, streaming);
    addApprovalRoutes(api, streaming);
    addChannelRoutes(api, deps);
    addMemberRoutes(api, deps);
    addKeyRoutes(api, deps);
    addSessionRoutes(api, streaming);
    addSidecarRoutes(api, deps);
    addAuthorityRoutes(api, deps);
    addSignInRoutes(api, deps);
    addModelRoutes(api, deps);
    addToolServerRoutes(api, deps);
    addWorkspaceRoutes(api, deps);
  });
  return app;
}

/**
 * Rejects requests while the server closes, so that clients retry on another server. Hook requests are still decided as
 * usual.
 */
function refuseWhileClosing(app: FastifyInstance): void {
  let isClosing = false;
  app.addHook('preClose', async () => {
    isClosing = true;
  });
  app.addHook('onRequest', async ({ routeOptions }) => {
    if (isClosing && routeOptions.config.answerCrowded === undefined)
      throw new AppError({ code: 'unavailable', publicMessage: 'this control plane is stopping', retryAfterSeconds: 5 });
  });
}

// Answers requests that match no route: 405 when the path exists but the method does not, else 404.

interface KnownPath {
  readonly form: RegExp;
  readonly methods: Set<string>;
}

/**
 * Call this before the routes are added: it collects each route as it is added. The returned function answers requests
 * that match no route.
 */
function answerMissing(app: FastifyInstance): (request: FastifyRequest, reply: FastifyReply) => void {
  const known = new Map<string, KnownPath>();
  app.addHook('onRoute', ({ url, method }) => {
    const path = known.get(url) ?? { form: new RegExp(`^${url.replaceAll(/:[a-z]+/gi, '[^/]+')}$`), methods: new Set<string>() };
    for (const one of [method].flat()) path.methods.add(one);
    known.set(url, path);
  });
  return (request, reply) => {
    const path = request.url.split('?', 1)[0] ?? '';
    const methods = [...known.values()].filter(({ form }) => form.test(path)).flatMap((one) => [...one.methods]);
    if (methods.length === 0) return void reply.code(404).send({ error: 'there is no such path' });
    void reply
      .code(405)
      .header('Allow', [...new Set(methods)].join(', '))
      .send({ error: `the methods of this path are ${[...new Set(methods)].join(', ')}` });
  };
}
