// Routes for liveness, readiness and metrics. They need no authentication, because they contain nothing secret.
import type { FastifyInstance } from 'fastify';
import type { AppDeps } from './deps.ts';
import { describe } from './describe.ts';
import { exportReadiness } from './metrics.ts';
import { okAnd } from './shapes.ts';

const tag = 'Health';
const warnings = { type: 'array', items: { type: 'string' }, description: 'Problems that need attention while the service works' };
const schemas = {
  alive: describe({ id: 'readHealth', tag, summary: 'Whether the process works', answers: okAnd() }, {}, []),
  ready: describe(
    { id: 'readReadiness', tag, summary: 'Whether it can serve; if not, 503 with the reasons', answers: okAnd({}, { warnings }) },
    {},
    [],
  ),
  metrics: describe(
    { id: 'readMetrics', tag, summary: 'Metrics, for Prometheus', answers: { mediaType: 'text/plain', text: 'OpenMetrics text' } },
    {},
    [],
  ),
};

export function addHealthRoutes(
  app: FastifyInstance,
  { readiness, warnings: listWarnings, registry }: Pick<AppDeps, 'readiness' | 'warnings' | 'registry'>,
): void {
  exportReadiness(registry, () => readiness().length === 0);
  app.get('/healthz', { schema: schemas.alive, config: { takesNoTurn: true } }, async () => ({ ok: true }));

  app.get('/readyz', { schema: schemas.ready, config: { takesNoTurn: true } }, async (_request, reply) => {
    const reasons = readiness();
    const seen = listWarnings();
    if (reasons.length === 0) return { ok: true, ...(seen.length === 0 ? {} : { warnings: seen }) };
    return reply.code(503).send({ error: `not ready: ${reasons.join('; ')}`, details: reasons });
  });

  app.get('/metrics', { schema: schemas.metrics }, async (_request, reply) =>
    reply.type(registry.contentType).send(await registry.metrics()),
  );
}
