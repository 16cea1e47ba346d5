// Whether it lives, whether it can serve, and its metrics. Open to whoever reaches the port; nothing secret is there.
import type { FastifyInstance } from 'fastify';
import type { AppDeps } from '../deps.ts';

export function addHealthRoutes(app: FastifyInstance, { readiness, registry }: Pick<AppDeps, 'readiness' | 'registry'>): void {
  app.get('/healthz', async () => ({ ok: true }));

  app.get('/readyz', async (_request, reply) => {
    const reasons = readiness();
    if (reasons.length === 0) return { ok: true };
    return reply.code(503).send({ error: `not ready: ${reasons.join('; ')}`, details: reasons });
  });

  app.get('/metrics', async (_request, reply) => reply.type(registry.contentType).send(await registry.metrics()));
}
