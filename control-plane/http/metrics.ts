// How many requests there are and how long they take, by route as it is declared, never by what stands in a path.
import type { FastifyInstance } from 'fastify';
import { Histogram, type Registry } from 'prom-client';

export function observeRequests(app: FastifyInstance, registry: Registry): void {
  const seconds = new Histogram({
    name: 'tollgate_http_request_seconds',
    help: 'Time from a request to its answer',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers: [registry],
  });
  app.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? 'none';
    const fields = { method: request.method, route, status: reply.statusCode };
    seconds.observe(fields, reply.elapsedTime / 1000);
    request.log.debug({ ...fields, ms: Math.round(reply.elapsedTime) }, 'answered');
  });
}
