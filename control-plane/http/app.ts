// Builds the REST surface; who starts the program lets it listen. Every answer that is not 2xx is `{error}`.
import { bounds } from '@tollgate/proto/contract';
import { type FastifyInstance, fastify, LogController } from 'fastify';
import { refusalOf } from '../errors.ts';
import { loggable } from '../loggable.ts';
import { parseBody } from './json-body.ts';
import { observeRequests } from './metrics.ts';
import type { AppDeps } from './deps.ts';
import { answerMissing } from './missing.ts';
import { sendRefusal } from './refuse.ts';
import { addAgentRoutes } from './routes/agents.ts';
import { addAuditRoutes } from './routes/audit.ts';
import { addExplainRoute } from './routes/explain.ts';
import { addHealthRoutes } from './routes/health.ts';
import { addKeyRoutes } from './routes/keys.ts';
import { addMemberRoutes } from './routes/members.ts';
import { addPolicyRoutes } from './routes/policies.ts';
import { addUserPolicyRoutes } from './routes/user-policies.ts';
import { addWorkspaceRoutes } from './routes/workspaces.ts';

/** Long enough for the longest agent-type key with every character escaped; the default of 100 would answer 414. */
const pathParameterMax = 8192;
const requestTimeoutMs = 30_000;

export function createApp(deps: AppDeps): FastifyInstance {
  const app = fastify({
    loggerInstance: deps.log,
    // Its own lines would hold raw URLs; ours are in metrics.ts.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: bounds.bodyBytes,
    requestTimeout: requestTimeoutMs,
    routerOptions: { maxParamLength: pathParameterMax },
    // Ours is to refuse what is wrong, not to drop or bend it.
    ajv: { customOptions: { removeAdditional: false, coerceTypes: false, useDefaults: false, allErrors: true } },
    frameworkErrors: (error, _request, reply) => void sendRefusal(reply, refusalOf(error)),
    return503OnClosing: true,
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (_request: unknown, bytes: Buffer) => parseBody(bytes));
  app.setErrorHandler((error, request, reply) => {
    const refusal = refusalOf(error);
    if (refusal.code === 'internal') request.log.error({ ...loggable(refusal.cause), route: request.routeOptions.url }, 'a request failed');
    if (refusal.code === 'unavailable')
      request.log.warn({ ...loggable(refusal.cause), route: request.routeOptions.url }, 'the database was not available');
    return sendRefusal(reply, refusal);
  });
  answerMissing(app);
  observeRequests(app, deps.registry);
  addHealthRoutes(app, deps);
  addAgentRoutes(app, deps);
  addPolicyRoutes(app, deps);
  addUserPolicyRoutes(app, deps);
  addExplainRoute(app, deps);
  addAuditRoutes(app, deps);
  addMemberRoutes(app, deps);
  addKeyRoutes(app, deps);
  addWorkspaceRoutes(app, deps);
  return app;
}
