// Routes that stream their answer: the operation yields one item after another. This code detects a client that
// disconnects and cuts a client that does not read. It also makes sure that a client never takes an incomplete answer
// for a complete one.
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Actor } from '../access/rules/actor.ts';
import { refusalOf } from '../base/errors.ts';
import { loggable } from '../base/loggable.ts';
import type { StreamDeps } from './deps.ts';
import type { OtherBody } from './describe.ts';
import { type RequestSource, asked, joined, type RouteSchema } from './route.ts';

/** `frame` turns each item into text of the media type that `answers` names. */
interface StreamRoute<S extends RouteSchema, I, T> extends RequestSource<S, I, AsyncIterable<T>> {
  readonly answers: OtherBody;
  readonly frame: (item: T) => string;
}

/** The time that a stream has to send its last items when the server stops. */
const lastWordsMs = 1_000;

/** Adds a route like `addRoute`, for an operation that yields items until it ends or the client disconnects. */
export function addStream<const S extends RouteSchema, I, T>(app: FastifyInstance, deps: StreamDeps, route: StreamRoute<S, I, T>): void {
  const { method, url, operation, input, frame, answers } = route;
  const { actorOf, ...options } = joined(deps, { ...route, refusals: [...(route.refusals ?? []), 'rate_limited'] });
  const items = (actor: Actor, request: FastifyRequest, signal: AbortSignal) => operation(deps, actor, input(asked(request)), { signal });
  const handler = streamHandler(app, deps, { actorOf, items, frame, mediaType: answers.mediaType });
  app.route({ method, url, ...options, handler });
}

interface StreamSource<T> {
  readonly actorOf: (request: FastifyRequest) => Actor;
  /** When the signal is aborted, the client has disconnected or the server stops. */
  readonly items: (actor: Actor, request: FastifyRequest, signal: AbortSignal) => Promise<AsyncIterable<T>> | AsyncIterable<T>;
  readonly frame: (item: T) => string;
  readonly mediaType: string;
}

/** Returns the handler of a route that streams. `addStream` is for routes of operations; others add their route themselves. */
export function streamHandler<T>(app: FastifyInstance, deps: StreamDeps, { actorOf, items, frame, mediaType }: StreamSource<T>) {
  const stopping = new AbortController();
  app.addHook('preClose', async () => stopping.abort());
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const actor = actorOf(request);
    const close = deps.streams.open(actor.keyId);
    const left = departureOf(reply, close);
    // A client that does not read cannot receive the end of the stream, and it would delay the stop.
    const cutSoon = (): void => void setTimeout(() => cut(request), lastWordsMs).unref();
    stopping.signal.addEventListener('abort', cutSoon, { signal: left });
    const signal = AbortSignal.any([left, stopping.signal]);
    return sendStream(deps, { request, reply, actor }, { items: await items(actor, request, signal), frame, mediaType, signal });
  };
}

/**
 * Returns a signal that aborts when the client has disconnected or has received everything. `close` is called at the
 * same time.
 */
export function departureOf(reply: FastifyReply, close: () => void = () => undefined): AbortSignal {
  const left = new AbortController();
  const leave = (): void => {
    close();
    left.abort();
  };
  reply.raw.once('close', leave);
  // The `close` event has already fired and will not fire again.
  if (reply.raw.destroyed) leave();
  return left.signal;
}

/**
 * Resets the connection. Over HTTP/1.0, which proxies use, a connection that closes normally looks like a complete
 * answer.
 */
const cut = (request: FastifyRequest): void => void request.raw.socket.resetAndDestroy();

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly actor: Pick<Actor, 'slug'>;
}

interface StreamedAnswer<T> {
  readonly items: AsyncIterable<T>;
  readonly frame: (item: T) => string;
  readonly mediaType: string;
  /** When this signal is aborted, the stream may end before its last item, and this is not an error. */
  readonly signal: AbortSignal;
}

export function sendStream<T>(
  deps: Pick<StreamDeps, 'streams' | 'countBroken'>,
  { request, reply, actor }: Exchange,
  { items, frame, mediaType, signal }: StreamedAnswer<T>,
): FastifyReply {
  void reply.type(mediaType).header('Cache-Control', 'no-store').header('X-Accel-Buffering', 'no');
  // The connection is ended with the stream. If it were kept alive, it would outlive the stream and delay a stop.
  // `Connection: close` is not used: with it, a client accepts a body without its last chunk as complete.
  reply.raw.once('finish', () => request.raw.socket.end());
  const unread = (): void => {
    request.log.info(
      { route: request.routeOptions.url, workspace: actor.slug },
      'a stream was closed, because its client does not read the data',
    );
    cut(request);
  };
  const body = Readable.from(framed(items, frame, { ms: deps.streams.undrainedMs, unread }), {
    objectMode: false,
    highWaterMark: 65_536,
  });
  body.once('error', (error) => {
    // Before the first byte, an error answer can still be sent.
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
  /** Called when the client has not read the sent data for `ms` milliseconds. */
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

/** Logs an answer that failed after it had begun, because Fastify does not log it. */
function logBroken(request: FastifyRequest, error: unknown): void {
  const { code, cause } = refusalOf(error);
  const level = code === 'internal' ? 'error' : code === 'unavailable' ? 'warn' : 'info';
  request.log[level]({ ...loggable(cause ?? error), route: request.routeOptions.url }, 'an answer failed after it had begun');
}
