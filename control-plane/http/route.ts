// How a route is joined to its operation: who asks is settled before the body is read (401, then 403 for the wrong
// workspace or an action that is not theirs), and only then what is asked (400).
import type { FastifyInstance, FastifyRequest, FastifySchema, HTTPMethods } from 'fastify';
import type { Static, TSchema } from 'typebox';
import { requireAccess } from '../domain/access.ts';
import type { Actor } from '../domain/actor.ts';
import { authenticate, requireWorkspace } from '../operations/authenticate.ts';
import type { Deps, Operation } from '../operations/operation.ts';

interface RouteSchema {
  readonly params?: TSchema;
  readonly querystring?: TSchema;
  readonly body?: TSchema;
}

type TypeOf<S extends RouteSchema, K extends keyof RouteSchema> = S[K] extends TSchema ? Static<S[K]> : undefined;

/** What a request holds once it has passed its schema. */
interface Asked<S extends RouteSchema> {
  readonly params: TypeOf<S, 'params'>;
  readonly query: TypeOf<S, 'querystring'>;
  readonly body: TypeOf<S, 'body'>;
}

interface Route<S extends RouteSchema, I, R> {
  readonly method: HTTPMethods;
  readonly url: string;
  readonly operation: Operation<I, R>;
  readonly schema: S;
  readonly input: (asked: Asked<S>) => I;
  readonly answer: (result: R) => object;
  /** Asked once the actor is known and may do it, before the body is read. */
  readonly admit?: (actor: Actor) => void;
}

export function addRoute<const S extends RouteSchema, I, R>(app: FastifyInstance, deps: Deps, route: Route<S, I, R>): void {
  const { method, url, operation, input, answer, admit } = route;
  const schema: FastifySchema = route.schema;
  const actors = new WeakMap<FastifyRequest, Actor>();
  app.route({
    method,
    url,
    schema,
    onRequest: async (request) => {
      const actor = await authenticate(deps, request.headers.authorization);
      const workspace = pathWorkspace(request.params);
      if (workspace !== null) requireWorkspace(actor, workspace);
      requireAccess(actor, operation.action);
      admit?.(actor);
      actors.set(request, actor);
    },
    handler: async (request) => {
      const actor = actors.get(request);
      if (actor === undefined) throw new Error('a route was reached without an actor');
      // The schema has passed it; Fastify's own types know nothing of it.
      const asked = { params: request.params, query: request.query, body: request.body } as Asked<S>;
      return answer(await operation(deps, actor, input(asked)));
    },
  });
}

/** The slug in a governance path; the agents' paths have none. */
function pathWorkspace(params: unknown): string | null {
  return typeof params === 'object' && params !== null && 'workspace' in params ? String(params.workspace) : null;
}

/** The answer to a write. */
export const ok = (result: object): object => ({ ok: true, ...result });
