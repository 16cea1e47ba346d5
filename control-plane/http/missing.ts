// Answers requests that match no route: 405 when the path exists but the method does not, else 404.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

interface KnownPath {
  readonly form: RegExp;
  readonly methods: Set<string>;
}

/**
 * Call this before the routes are added: it collects each route as it is added. The returned function answers requests
 * that match no route.
 */
export function answerMissing(app: FastifyInstance): (request: FastifyRequest, reply: FastifyReply) => void {
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
