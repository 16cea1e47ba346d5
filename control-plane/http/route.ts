// How a route is joined to its operation. Who asks is settled before the body is read (401, then 403 for the wrong
// workspace or an action that is not theirs), and only then what is asked (400).
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest, FastifySchema, HTTPMethods } from 'fastify';
import type { Static, TSchema } from 'typebox';
import { requireAccess } from '../domain/access/access.ts';
import type { Actor } from '../domain/access/actor.ts';
import { authenticateRequest, requireWorkspace } from '../operations/access/authenticate.ts';
import type { Operation } from '../operations/operation.ts';
import { refusalOf } from '../errors.ts';
import { loggable } from '../loggable.ts';
import { conditionOf } from './condition.ts';
import { shownBy } from './cookies.ts';
import type { AppDeps, StreamDeps } from './deps.ts';
import { type Described, describe } from './describe.ts';

interface RouteSchema {
  readonly params?: TSchema;
  readonly querystring?: TSchema;
  readonly body?: TSchema;
  readonly headers?: TSchema;
}

type TypeOf<S extends RouteSchema, K extends keyof RouteSchema> = S[K] extends TSchema ? Static<S[K]> : undefined;

/** What a request holds once it has passed its schema. */
interface Asked<S extends RouteSchema> {
  readonly params: TypeOf<S, 'params'>;
  readonly query: TypeOf<S, 'querystring'>;
  readonly body: TypeOf<S, 'body'>;
  readonly headers: FastifyRequest['headers'];
}

interface Asking<S extends RouteSchema, I, R> extends Described {
  readonly method: HTTPMethods;
  readonly url: string;
  readonly operation: Operation<I, R>;
  readonly schema: S;
  readonly input: (asked: Asked<S>) => I;
  /** Asked once the actor is known and may do it, before the body is read. `params`: as the path has them. */
  readonly admit?: (actor: Actor, params: TypeOf<S, 'params'>) => void;
}

interface Route<S extends RouteSchema, I, R> extends Asking<S, I, R> {
  readonly answer: (result: R) => object;
}

/** Each item becomes text of the media type that `answers` names. */
interface StreamRoute<S extends RouteSchema, I, T> extends Asking<S, I, AsyncIterable<T>> {
  readonly answers: { readonly mediaType: string; readonly text: string };
  readonly frame: (item: T) => string;
}

/** At a stop, for what a stream still has to say. */
const lastWordsMs = 1_000;

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
      const result = answer(await operation(deps, actor, input(asked(request)), { ifMatch }));
      // What was read is at least as new as the revision at which the actor was recognised.
      if (method === 'GET') void reply.header('ETag', `"${actor.revision}"`);
      return result;
    },
  });
}

/** The same for an operation that answers one item after the other, until its end or until the client leaves. */
export function addStream<const S extends RouteSchema, I, T>(app: FastifyInstance, deps: StreamDeps, route: StreamRoute<S, I, T>): void {
  const { method, url, operation, input, frame, answers } = route;
  const { actorOf, ...options } = joined(deps, { ...route, refusals: [...(route.refusals ?? []), 'rate_limited'] });
  const stopping = new AbortController();
  app.addHook('preClose', async () => stopping.abort());
  app.route({
    method,
    url,
    ...options,
    handler: async (request, reply) => {
      const actor = actorOf(request);
      const close = deps.streams.open(actor.keyId);
      const left = new AbortController();
      const leave = (): void => {
        close();
        left.abort();
      };
      reply.raw.once('close', leave);
      // It has said so already, and will not again.
      if (reply.raw.destroyed) leave();
      // By a reset: over HTTP/1.0, which proxies speak, a connection that just closes looks like a whole answer.
      const cut = (): void => void request.raw.socket.resetAndDestroy();
      // A client that does not read cannot be told the end, and would hold up the stop.
      const cutSoon = (): void => void setTimeout(cut, lastWordsMs).unref();
      stopping.signal.addEventListener('abort', cutSoon, { signal: left.signal });
      const signal = AbortSignal.any([left.signal, stopping.signal]);
      const items = await operation(deps, actor, input(asked(request)), { signal });
      void reply.type(answers.mediaType).header('Cache-Control', 'no-store').header('X-Accel-Buffering', 'no');
      // Kept alive, it would outlive the stream, and hold up a stop. Not by `Connection: close`: with it a client takes
      // a body that lacks its last chunk for whole.
      reply.raw.once('finish', () => request.raw.socket.end());
      const unread = (): void => {
        request.log.info({ route: url, workspace: actor.slug }, 'a stream was cut: its client does not read');
        cut();
      };
      const body = Readable.from(framed(items, frame, { ms: deps.streams.undrainedMs, unread }), {
        objectMode: false,
        highWaterMark: 65_536,
      });
      body.once('error', (error) => {
        // Before the first byte there is still a refusal to send.
        if (!reply.raw.headersSent) return;
        if (!signal.aborted) {
          logBroken(request, error);
          deps.countBroken(reply);
        }
        cut();
      });
      return reply.send(body);
    },
  });
}

interface Patience {
  readonly ms: number;
  /** What was given was not taken for so long. */
  readonly unread: () => void;
}

async function* framed<T>(items: AsyncIterable<T>, frame: (item: T) => string, { ms, unread }: Patience): AsyncGenerator<string> {
  for await (const item of items) {
    const timer = setTimeout(unread, ms);
    try {
      yield frame(item);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** The framework says nothing of an answer that has begun. */
function logBroken(request: FastifyRequest, error: unknown): void {
  const { code, cause } = refusalOf(error);
  const level = code === 'internal' ? 'error' : code === 'unavailable' ? 'warn' : 'info';
  request.log[level]({ ...loggable(cause ?? error), route: request.routeOptions.url }, 'an answer broke off after its beginning');
}

function joined<S extends RouteSchema, I, R>(deps: AppDeps, route: Asking<S, I, R>) {
  const checked: FastifySchema = route.schema;
  return {
    schema: describe(route, checked, security),
    ...(route.bodyBytes === undefined ? {} : { bodyLimit: route.bodyBytes }),
    ...recognising(
      (request) => authenticateRequest(deps, shownBy(request, deps.config.publicUrl)),
      (actor, request) => {
        requireAccess(actor, route.operation.action);
        route.admit?.(actor, asked<S>(request).params);
      },
    ),
  };
}

/** Who asks, of which workspace and whether they may, is settled before a body is read; the handler asks for it afterwards. */
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
      actors.set(request, actor);
    },
    actorOf: (request: FastifyRequest): Actor => {
      const actor = actors.get(request);
      if (actor === undefined) throw new Error('a route was reached without an actor');
      return actor;
    },
  };
}

/** The slug in a governance path; the agents' paths have none. */
function pathWorkspace(params: unknown): string | null {
  return typeof params === 'object' && params !== null && 'workspace' in params ? String(params.workspace) : null;
}

/** The schema has passed it; Fastify's own types know nothing of it. */
const asked = <S extends RouteSchema>({ params, query, body, headers }: FastifyRequest): Asked<S> =>
  ({ params, query, body, headers }) as Asked<S>;

/** The answer to a write. */
export const ok = (result: object): object => ({ ok: true, ...result });
