// Connects a route to its operation. The caller is checked before the body is read: 401 for an unknown caller, then 403
// for the wrong workspace or an action that the caller must not perform. After that, the request itself is checked
// (400).
import { recognised } from '@tollgate/sidecar/hooks';
import type { FastifyInstance, FastifyRequest, FastifySchema, HTTPMethods } from 'fastify';
import type { Static, TSchema } from 'typebox';
import { requireAccess } from '../access/rules/access.ts';
import type { Actor } from '../access/rules/actor.ts';
import { authenticateRequest, requireWorkspace } from '../access/operations/authenticate.ts';
import type { Operation } from '../access/operation.ts';
import { shownBy } from './cookies.ts';
import type { AppDeps } from './deps.ts';
import { describe, type RouteDescription } from './describe.ts';
import { badRequest } from '../base/refusal.ts';

export interface RouteSchema {
  readonly params?: TSchema;
  readonly querystring?: TSchema;
  readonly body?: TSchema;
  readonly headers?: TSchema;
}

type TypeOf<S extends RouteSchema, K extends keyof RouteSchema> = S[K] extends TSchema ? Static<S[K]> : undefined;

/** The parts of a request after the schema check. */
interface CheckedRequest<S extends RouteSchema> {
  readonly params: TypeOf<S, 'params'>;
  readonly query: TypeOf<S, 'querystring'>;
  readonly body: TypeOf<S, 'body'>;
  readonly headers: FastifyRequest['headers'];
}

export interface RequestSource<S extends RouteSchema, I, R> extends RouteDescription {
  readonly method: HTTPMethods;
  readonly url: string;
  readonly operation: Operation<I, R>;
  readonly schema: S;
  readonly input: (asked: CheckedRequest<S>) => I;
  /**
   * Called before the body is read, when it is known that the actor has access. `params`: the parameters of the path.
   */
  readonly admit?: (actor: Actor, params: TypeOf<S, 'params'>) => void;
}

interface Route<S extends RouteSchema, I, R> extends RequestSource<S, I, R> {
  readonly answer: (result: R) => object;
}

/** Only routes with `forceQuery` accept this parameter. */
const isForced = (query: unknown): boolean => Object(query)['force'] === 'true';

const security = [{ key: [] }, { session: [] }] as const;

export function addRoute<const S extends RouteSchema, I, R>(app: FastifyInstance, deps: AppDeps, route: Route<S, I, R>): void {
  const { method, url, operation, input, answer } = route;
  const { actorOf, ...options } = joined(deps, route);
  app.route({
    method,
    url,
    ...options,
    handler: async (request, reply) => {
      const actor = actorOf(request);
      const ifMatch = method === 'GET' ? null : conditionOf(request.headers['if-match']);
      const result = answer(await operation(deps, actor, input(asked(request)), { ifMatch, force: isForced(request.query) }));
      // The data is at least as new as the revision at which the actor was authenticated.
      if (method === 'GET') void reply.header('ETag', `"${actor.revision}"`);
      return result;
    },
  });
}

/** Returns the options that every route needs, and `actorOf`, with which a handler gets the actor. */
export function joined<S extends RouteSchema, I, R>(deps: AppDeps, route: RequestSource<S, I, R>) {
  const checked: FastifySchema = route.schema;
  return {
    schema: describe(route, checked, security),
    ...(route.bodyBytes === undefined ? {} : { bodyLimit: route.bodyBytes }),
    ...recognising(
      (request) => authenticateRequest(deps, shownBy(request, deps)),
      (actor, request) => {
        requireAccess(actor, route.operation.action);
        route.admit?.(actor, asked<S>(request).params);
      },
    ),
  };
}

/**
 * Authenticates the caller and checks its workspace and permission before a body is read. The handler gets the actor
 * from `actorOf`.
 */
export function recognising(
  recognise: (request: FastifyRequest) => Promise<Actor>,
  permit?: (actor: Actor, request: FastifyRequest) => void,
) {
  const actors = new WeakMap<FastifyRequest, Actor>();
  return {
    onRequest: async (request: FastifyRequest): Promise<void> => {
      const actor = await recognise(request);
      const workspace = pathWorkspace(request.params);
      if (workspace !== null) requireWorkspace(actor, workspace);
      permit?.(actor, request);
      recognised(request, actor.keyId);
      actors.set(request, actor);
    },
    actorOf: (request: FastifyRequest): Actor => {
      const actor = actors.get(request);
      if (actor === undefined)
        throw new Error(
          'the onRequest hook must authenticate the caller before the handler of the route runs, but no caller is stored for this request',
        );
      return actor;
    },
  };
}

/** Returns the workspace slug in the path. Returns null if the path has none, such as the agents' paths. */
function pathWorkspace(params: unknown): string | null {
  return typeof params === 'object' && params !== null && 'workspace' in params ? String(params.workspace) : null;
}

/**
 * The schema check has already validated these values; Fastify's own types do not express that. A parameter of the query is
 * refused if PostgreSQL cannot take it. Bodies are checked when they are parsed.
 */
export function asked<S extends RouteSchema>({ params, query, body, headers }: FastifyRequest): CheckedRequest<S> {
  const wrong = Object.entries(Object(query)).find(([, value]) => String(value).includes('\0'));
  if (wrong !== undefined) throw badRequest(`${wrong[0]} must be text without NUL`);
  return { params, query, body, headers } as CheckedRequest<S>;
}

/** Builds the answer to a write. */
export const ok = (result: object): object => ({ ok: true, ...result });

// Reads `If-Match`: the write succeeds only while its target is unchanged since the given revision. Every answer names
// a revision: writes in `revision`, reads in `ETag`.

const conditionForm = /^("?)(\d{1,15})\1$/;

/** Returns the revision in the header, or null when the header is absent. */
function conditionOf(header: string | undefined): number | null {
  if (header === undefined) return null;
  const revision = conditionForm.exec(header.trim())?.[2];
  if (revision === undefined) throw badRequest('If-Match must be one revision: the `revision` of an answer or its ETag');
  return Number(revision);
}
