// The process's HTTP server: hooks for agents; health and metrics for operators. `buildServer` says what it is,
// `main.ts` runs it.
import { bounds } from '@tollgate/proto/contract';
import { type FastifyBaseLogger, type FastifyError, type FastifyInstance, fastify, LogController } from 'fastify';
import type { Registry } from 'prom-client';
import type { Sidecar } from '../sidecar.ts';
import { publicError } from './errors.ts';
import { registerHooks } from './hooks.ts';
import type { DecisionMetrics } from './metrics.ts';

interface Deps {
  readonly sidecar: Sidecar;
  readonly registry: Registry;
  readonly metrics: DecisionMetrics;
  readonly log: FastifyBaseLogger;
}

export function buildServer({ sidecar, registry, metrics, log }: Deps): FastifyInstance {
  const app = fastify({
    loggerInstance: log,
    // No request line in the log: health checks would drown it, and a URL may hold what must not stand there.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: bounds.bodyBytes,
    requestTimeout: 10_000,
    keepAliveTimeout: 75_000,
    routerOptions: { maxParamLength: 1_000 },
    ajv: { customOptions: { removeAdditional: false, coerceTypes: false } },
  });
  app.setErrorHandler<FastifyError>((error, _request, reply) => {
    const { status, message } = publicError(error);
    if (status >= 500) log.error({ err: error }, 'a request failed');
    return reply.code(status).send({ error: message });
  });
  app.setNotFoundHandler((request, reply) => reply.code(404).send({ error: `there is no ${request.method} ${request.url.split('?')[0]}` }));
  app.get('/healthz', () => ({ ok: true, policy: sidecar.cell.status(), audit: sidecar.shipping() }));
  app.get('/readyz', (_request, reply) => {
    const reasons = sidecar.notReady();
    return reply.code(reasons.length === 0 ? 200 : 503).send(reasons.length === 0 ? { ok: true } : { error: reasons.join('; '), reasons });
  });
  app.get('/metrics', async (_request, reply) => reply.type(registry.contentType).send(await registry.metrics()));
  registerHooks(app, sidecar, metrics);
  return app;
}
