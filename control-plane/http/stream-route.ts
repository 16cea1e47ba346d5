// Answers that go on: a route whose operation answers one item after the other, and the sending of them. A client that leaves is
// noticed, one that does not read is cut, and what broke off is never taken for whole.
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Actor } from '../domain/access/actor.ts';
import { refusalOf } from '../errors.ts';
import { loggable } from '../loggable.ts';
import type { StreamDeps } from './deps.ts';
import { type Asking, asked, joined, type RouteSchema } from './route.ts';

/** Each item becomes text of the media type that `answers` names. */
interface StreamRoute<S extends RouteSchema, I, T> extends Asking<S, I, AsyncIterable<T>> {
  readonly answers: { readonly mediaType: string; readonly text: string };
  readonly frame: (item: T) => string;
}

/** At a stop, for what a stream still has to say. */
const lastWordsMs = 1_000;

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
      const left = departureOf(reply, close);
      // A client that does not read cannot be told the end, and would hold up the stop.
      const cutSoon = (): void => void setTimeout(() => cut(request), lastWordsMs).unref();
      stopping.signal.addEventListener('abort', cutSoon, { signal: left });
      const signal = AbortSignal.any([left, stopping.signal]);
      const items = await operation(deps, actor, input(asked(request)), { signal });
      return sendStream(deps, { request, reply, actor }, { items, frame, mediaType: answers.mediaType, signal });
    },
  });
}

/** Aborted once the client has gone or has everything; `close` is called with it. */
export function departureOf(reply: FastifyReply, close: () => void = () => undefined): AbortSignal {
  const left = new AbortController();
  const leave = (): void => {
    close();
    left.abort();
  };
  reply.raw.once('close', leave);
  // It has said so already, and will not again.
  if (reply.raw.destroyed) leave();
  return left.signal;
}

/** By a reset: over HTTP/1.0, which proxies speak, a connection that just closes looks like a whole answer. */
const cut = (request: FastifyRequest): void => void request.raw.socket.resetAndDestroy();

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly actor: Pick<Actor, 'slug'>;
}

interface Sent<T> {
  readonly items: AsyncIterable<T>;
  readonly frame: (item: T) => string;
  readonly mediaType: string;
  /** Aborted: an end before the last item is nobody's failing. */
  readonly signal: AbortSignal;
}

export function sendStream<T>(
  deps: Pick<StreamDeps, 'streams' | 'countBroken'>,
  { request, reply, actor }: Exchange,
  { items, frame, mediaType, signal }: Sent<T>,
): FastifyReply {
  void reply.type(mediaType).header('Cache-Control', 'no-store').header('X-Accel-Buffering', 'no');
  // Kept alive, it would outlive the stream, and hold up a stop. Not by `Connection: close`: with it a client takes
  // a body that lacks its last chunk for whole.
  reply.raw.once('finish', () => request.raw.socket.end());
  const unread = (): void => {
    request.log.info({ route: request.routeOptions.url, workspace: actor.slug }, 'a stream was cut: its client does not read');
    cut(request);
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
    cut(request);
  });
  return reply.send(body);
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
