// Exports the number of requests and their duration, and whether the process can serve requests. The label is the route
// as declared, never the actual path.
import type { FastifyInstance, FastifyReply } from 'fastify';
import { Gauge, Histogram, type Registry } from 'prom-client';

/**
 * Returns a function that counts a reply which broke off after its first byte. Such a reply counts as `broken`, not
 * with the status that it began with.
 */
export function observeRequests(app: FastifyInstance, registry: Registry): (reply: FastifyReply) => void {
  const seconds = new Histogram({
    name: 'tollgate_http_request_seconds',
    help: 'Time from a request to its answer',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers: [registry],
  });
  const broken = new WeakSet<FastifyReply>();
  const observe = (reply: FastifyReply, status: number | 'broken'): void => {
    const { request, elapsedTime } = reply;
    const fields = { method: request.method, route: request.routeOptions.url ?? 'none', status };
    seconds.observe(fields, elapsedTime / 1000);
    request.log.debug({ ...fields, ms: Math.round(elapsedTime) }, 'answered');
  };
  app.addHook('onResponse', async (_request, reply) => {
    if (!broken.has(reply)) observe(reply, reply.statusCode);
  });
  return (reply) => {
    broken.add(reply);
    observe(reply, 'broken');
  };
}

export const exportReadiness = (registry: Registry, isReady: () => boolean): Gauge =>
  new Gauge({
    name: 'tollgate_ready',
    help: '1 while it can serve, as /readyz says',
    registers: [registry],
    collect() {
      this.set(Number(isReady()));
    },
  });
