// What the servers that callers of tools reach by HTTP do with a request before anything of it is decided: callers share the process. Requests
// of one caller take turns, of a connection one waits at a time, and bodies that are under way have room in bytes, of which a caller takes as
// much as it leaves to all others.
//
// A caller is who shows a good key. All others are one caller together, whatever they show: they take one turn, and have a small room in which
// their requests wait to be recognised. A body is read in the caller's own room, once a route has said whose request it is; of nobody's
// request no more is read than a few words, where a route reads it at all. What no route answers is not read.
//
// Where keys cannot be told at once, as in a control plane, who was recognised lately is known by what it showed, until it is refused.
import { bounds, hashKey, reasons } from '@tollgate/proto/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { BodyRoom } from './body-room.ts';
import { retryHeader } from './denial-body.ts';
import type { Barred } from './key.ts';
import { createTurns, type TurnsDeps } from './turns.ts';

/** Open at a time; further ones are closed at once. */
const connectionsMax = 10_000;
/** Of all whose key is not known to be good. */
const strangersBytes = 4 * 1_048_576;
/** What Node holds of a body that nobody reads, and all that is read of a stranger's. */
const unreadBytes = 65_536;
/** That were recognised; about 200 bytes each. */
const rememberedMax = 10_000;

interface Sharing extends TurnsDeps {
  /** Answers what no route does. */
  readonly missing: (request: FastifyRequest, reply: FastifyReply) => void;
  /** For bodies, and for what is made of them. */
  readonly bodies: BodyRoom;
  readonly strangersBytes?: number;
  /** Whose good key is shown by this header; null: none. Absent: who was recognised before is known. */
  readonly whose?: (authorization: string | undefined) => string | null;
}

/** Said by a route that has found out whose request it is, before its body is read. */
export function recognised({ share }: FastifyRequest, caller: string): void {
  if (share !== null) share.recognisedAs = caller;
}

/** How all are told apart whose key is not known: no key has this id. */
const strangers = '';

export function shareFairly(app: FastifyInstance, sharing: Sharing): void {
  const { missing } = sharing;
  const turns = createTurns(sharing);
  const rooms = createRooms(sharing);
  const whose = sharing.whose === undefined ? remembering(app) : ofKey(sharing.whose);
  const waiting = new WeakSet<object>();
  app.decorateRequest('share', null);
  app.decorateRequest('letIn', null);
  app.server.maxConnections = connectionsMax;
  app.setNotFoundHandler(missing);
  app.addHook('onRequest', (request, reply, done) => {
    const { socket } = request.raw;
    // A pipelined request while the one before it waits: only a flood sends such, and nothing would bound how many.
    if (waiting.has(socket)) return void socket.destroy();
    // Made anew each time that it is asked for.
    const { config, bodyLimit } = request.routeOptions;
    if (config.waitsForNobody === true) return done();
    const caller = whose(request);
    const share: Share = { bodyLimit, bodyBytes: bodyBytesOf(request, bodyLimit), recognisedAs: null, isStranger: false, held: null };
    request.share = share;
    if (!request.is404 && !rooms.enter(share, caller, reply)) return refuse(request, reply);
    const begin = (): void => {
      if (request.is404) missing(request, reply);
      else done();
    };
    if (turns.mayBegin(caller ?? strangers)) return begin();
    waiting.add(socket);
    turns.wait(caller ?? strangers, () => {
      waiting.delete(socket);
      begin();
    });
  });
  app.addHook('preParsing', (request, reply, _payload, done) => {
    if (rooms.read(request, reply)) done();
    else refuse(request, reply);
  });
  // What was read is parsed after this.
  app.addHook('preValidation', (request, reply, done) => {
    const found = rooms.parse(request, reply);
    if (found === true) done();
    else void found.then((isFound) => goOn(isFound, request, reply, done));
  });
}

/** Of a request that has waited for room. */
function goOn(isFound: boolean, request: FastifyRequest, reply: FastifyReply, done: () => void): void {
  if (hasLeft(reply)) return;
  if (isFound) done();
  else refuse(request, reply);
}

/** Its caller has left: its end was told before, and is not told again. */
const hasLeft = ({ raw }: FastifyReply): boolean => raw.closed || raw.destroyed;

type Whose = (request: FastifyRequest) => string | null;

const ofKey =
  (whose: NonNullable<Sharing['whose']>): Whose =>
  ({ headers: { authorization } }) =>
    whose(authorization);

/** Who was recognised by the same header before. */
function remembering(app: FastifyInstance): Whose {
  const known = new LRUCache<string, string>({ max: rememberedMax });
  app.addHook('onResponse', (request, { statusCode }, done) => {
    const caller = request.share?.recognisedAs ?? null;
    if (caller !== null) known.set(shownIn(request), caller);
    else if (statusCode === 401) known.delete(shownIn(request));
    done();
  });
  return (request) => known.get(shownIn(request)) ?? null;
}

const shownIn = ({ headers: { authorization, cookie } }: FastifyRequest): string => hashKey(authorization ?? `cookie ${cookie ?? ''}`);

/** Where the bytes of a request's body are counted. */
interface Rooms {
  /** It waits, and nothing of it is read. False: there is no room. */
  enter(share: Share, caller: string | null, reply: FastifyReply): boolean;
  /** It is read now. False: there is no room. */
  read(request: FastifyRequest, reply: FastifyReply): boolean;
  /** It was read, and what it holds is made now, or once there is room. False: there was none in time. */
  parse(request: FastifyRequest, reply: FastifyReply): true | Promise<boolean>;
}

/** A request in the rooms. */
interface Share {
  readonly bodyLimit: number;
  /** What its body takes, as far as its head tells. */
  readonly bodyBytes: number;
  /** By its route; null: not yet. */
  recognisedAs: string | null;
  /** It has entered without a key that is known to be good. */
  isStranger: boolean;
  /** What it has of the room, until it is closed. */
  held: Held | null;
}

interface Held {
  readonly caller: string;
  bytes: number;
}

function createRooms({ bodies, strangersBytes: strangersMax = strangersBytes }: Sharing): Rooms {
  let ofStrangers = 0;

  const hold = (share: Share, caller: string, bytes: number, reply: FastifyReply): Held => {
    const held = { caller, bytes };
    share.held = held;
    reply.raw.on('close', () => bodies.give(caller, held.bytes));
    return held;
  };
  const take = (share: Share, caller: string, bytes: number, reply: FastifyReply): boolean => {
    if (hasLeft(reply)) return true;
    if (!bodies.take(caller, bytes)) return false;
    hold(share, caller, bytes, reply);
    return true;
  };
  const waitForMore = async (held: Held, bytes: number, reply: FastifyReply): Promise<boolean> => {
    const left = new AbortController();
    const leave = (): void => left.abort();
    reply.raw.once('close', leave);
    const isFound = await bodies.waitForMore(held.caller, bytes, { held: held.bytes, signal: left.signal });
    reply.raw.removeListener('close', leave);
    if (isFound && hasLeft(reply)) bodies.give(held.caller, bytes);
    else if (isFound) held.bytes += bytes;
    return isFound;
  };

  return {
    enter: (share, caller, reply) => {
      const bytes = share.bodyBytes;
      if (bytes === 0) return true;
      if (caller !== null) return take(share, caller, bytes, reply);
      const held = Math.min(bytes, unreadBytes);
      if (ofStrangers + held > strangersMax) return false;
      ofStrangers += held;
      reply.raw.on('close', () => {
        ofStrangers -= held;
      });
      share.isStranger = true;
      return true;
    },
    read: (request, reply) => {
      const { share } = request;
      if (share === null || !share.isStranger) return true;
      const { recognisedAs: caller, bodyBytes } = share;
      return caller === null ? bodyBytes <= unreadBytes : take(share, caller, bodyBytes, reply);
    },
    parse: (request, reply) => {
      const { body, share, headers } = request;
      if (share === null || !Buffer.isBuffer(body) || hasLeft(reply)) return true;
      const held = share.held ?? hold(share, strangers, 0, reply);
      const parsing = { most: valuesMaxOf(share.bodyLimit), type: headers['content-type'] ?? '' };
      const more = bodies.parsedBytes(body, parsing) - held.bytes;
      if (more <= 0) return true;
      if (!bodies.takeMore(held.caller, more, held.bytes)) return waitForMore(held, more, reply);
      held.bytes += more;
      return true;
    },
  };
}

/** With more values it is refused before it is parsed. */
const valuesMaxOf = (bodyLimit: number): number =>
  bodyLimit > bounds.bodyBytes ? Math.max(bounds.toolOutputNodes, bounds.policySetNodes) : bounds.jsonNodes;

/** What is longer than it may be is not read; one that does not say how long it is may be as long as any. */
function bodyBytesOf({ headers }: FastifyRequest, bodyLimit: number): number {
  if (headers['transfer-encoding'] !== undefined) return bodyLimit;
  const said = Number(headers['content-length'] ?? 0);
  return said > bodyLimit ? 0 : said;
}

type AnswerCrowded = (request: FastifyRequest, reply: FastifyReply, refusal: Barred) => void;

declare module 'fastify' {
  interface FastifyRequest {
    /** Null: it takes no turn, and has no body. */
    share: Share | null;
  }
  interface FastifyContextConfig {
    /** Answers in the words of the route where there is no room for the body of a request. */
    readonly answerCrowded?: AnswerCrowded;
    /** Takes no turn, and has no body: the health of the process does not hang on who asks it for something else. */
    readonly waitsForNobody?: true;
  }
}

const crowded: Barred & { readonly retryAfterMs: number } = {
  status: 429,
  code: 'request_limit',
  error: 'too many bytes of bodies of this caller are under way; come again once others are answered',
  retryAfterMs: 1_000,
};

/** In the words of the route, or as most doors deny: a client that reads nothing but the decision reads a denial. */
function refuse(request: FastifyRequest, reply: FastifyReply): void {
  const { answerCrowded } = request.routeOptions.config;
  if (answerCrowded !== undefined) return answerCrowded(request, reply, crowded);
  const { status, code, error, retryAfterMs } = crowded;
  void reply
    .code(status)
    .headers(retryHeader(retryAfterMs))
    .send({ error, decision: 'deny', action: 'block', reason: `${code}: ${error}`, kind: reasons[code], retryAfterMs });
}
