// Answers what no route does: 404, or 405 where the path is one of ours and the method is not.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

interface KnownPath {
  readonly form: RegExp;
  readonly methods: Set<string>;
}

/** Call before the routes are added: it learns them as they come, and then answers what is none of them. */
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
      .send({ error: `this path takes ${[...new Set(methods)].join(', ')}` });
  };
}
