// Shares an HTTP server fairly among callers, before anything is decided about a request. Callers take turns, and the
// requests of one caller wait for its turn. Each connection has at most one waiting request. All bodies that are being
// received share a memory budget. When a caller takes memory, the free part of the budget must afterwards be at least
// as large as everything that this caller holds.
//
// A caller is identified by a valid key. All requests without a known valid key count as one caller: they share one
// turn, and a small budget while they wait to be recognised. A body is counted in the caller's own budget as soon as a
// route has identified the caller. If a route reads the body of an unrecognised request, it reads only a small body
// (`unreadBytes`). The body of a request that matches no route is not read.
//
// A control plane cannot check keys immediately. There, a caller that was recognised recently is identified by the
// credentials that it sent, until they are refused.
import { bounds, hashKey, reasons } from '@tollgate/proto/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { BodyMemory } from './body-memory.ts';
import { retryHeader } from '../denial-body.ts';
import type { EntranceRefusal } from './key.ts';
import { createTurns, type TurnsDeps } from './turns.ts';

/** Maximum of open connections. Further ones are closed immediately. */
const connectionsMax = 10_000;
/** Budget for all requests without a known valid key. */
const unknownBytes = 4 * 1_048_576;
/**
 * How much of an unread body Node buffers, in bytes. It is also the maximum size of a body that is read for an
 * unrecognised request.
 */
const unreadBytes = 65_536;
/** The maximum number of recognised callers that are remembered, at about 200 bytes each. */
const rememberedMax = 10_000;

interface Sharing extends TurnsDeps {
  /** Answers a request that matches no route. */
  readonly missing: (request: FastifyRequest, reply: FastifyReply) => void;
  /** Memory budget for bodies and their parsed form. */
  readonly bodies: BodyMemory;
  readonly unknownBytes?: number;
  /**
   * Returns the caller to which the key in a header belongs. Null: the header has no valid key. Absent: callers are
   * remembered from earlier requests.
   */
  readonly whose?: (authorization: string | undefined) => string | null;
}

/** A route calls this when it has identified the caller of a request, before the body is read. */
export function recognised({ share }: FastifyRequest, caller: string): void {
  if (share !== null) share.recognisedAs = caller;
}

/** The caller id for all requests without a known key. No key has this id. */
const unknownCallers = '';

export function shareFairly(app: FastifyInstance, sharing: Sharing): void {
  const { missing } = sharing;
  const turns = createTurns(sharing);
  const intake = createIntake(sharing);
  const whose = sharing.whose === undefined ? remembering(app) : ofKey(sharing.whose);
  const waiting = new WeakSet<object>();
  app.decorateRequest('share', null);
  app.decorateRequest('letIn', null);
  app.server.maxConnections = connectionsMax;
  app.setNotFoundHandler(missing);
  app.addHook('onRequest', (request, reply, done) => {
    const { socket } = request.raw;
    // A second request arrived on this connection while the first one waits (pipelining). The connection is closed:
    // only a flood sends such requests, and their number would be unlimited.
    if (waiting.has(socket)) return void socket.destroy();
    // `routeOptions` builds a new object on each access, so it is read only once.
    const { config, bodyLimit } = request.routeOptions;
    if (config.takesNoTurn === true) return done();
    const caller = whose(request);
    const share: Share = { bodyLimit, bodyBytes: bodyBytesOf(request, bodyLimit), recognisedAs: null, isUnknown: false, held: null };
    request.share = share;
    if (!request.is404 && !intake.enter(share, caller, reply)) return refuse(request, reply);
    const begin = (): void => {
      if (request.is404) missing(request, reply);
      else done();
    };
    if (turns.mayBegin(caller ?? unknownCallers)) return begin();
    waiting.add(socket);
    turns.wait(caller ?? unknownCallers, () => {
      waiting.delete(socket);
      begin();
    });
  });
  app.addHook('preParsing', (request, reply, _payload, done) => {
    if (intake.read(request, reply)) done();
    else refuse(request, reply);
  });
  // The route parses the bytes of the body after this hook.
  app.addHook('preValidation', (request, reply, done) => {
    const found = intake.parse(request, reply);
    if (found === true) done();
    else void found.then((isFound) => proceed(isFound, request, reply, done));
  });
}

/** Continues a request that has waited for memory, or refuses it. */
function proceed(isFound: boolean, request: FastifyRequest, reply: FastifyReply, done: () => void): void {
  if (hasLeft(reply)) return;
  if (isFound) done();
  else refuse(request, reply);
}

/**
 * Returns whether the caller has disconnected. In that case, the end of the request was already reported and must not
 * be reported again.
 */
const hasLeft = ({ raw }: FastifyReply): boolean => raw.closed || raw.destroyed;

type Whose = (request: FastifyRequest) => string | null;

const ofKey =
  (whose: NonNullable<Sharing['whose']>): Whose =>
  ({ headers: { authorization } }) =>
    whose(authorization);

/** Returns a function that identifies a caller by a header that was recognised before. */
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

/** Counts the bytes of request bodies. */
interface Intake {
  /** Reserves memory for a request that waits. Nothing of its body is read yet. False: the budget has no space. */
  enter(share: Share, caller: string | null, reply: FastifyReply): boolean;
  /** Reserves memory for a body that is read now. False: the budget has no space. */
  read(request: FastifyRequest, reply: FastifyReply): boolean;
  /**
   * Reserves memory to parse a body that was read, and waits for it if necessary. False: there was no space in time.
   */
  parse(request: FastifyRequest, reply: FastifyReply): true | Promise<boolean>;
}

/** The accounting state of a request. */
interface Share {
  readonly bodyLimit: number;
  /** Size of its body, as far as the headers state it. */
  readonly bodyBytes: number;
  /** The caller that the route has recognised. Null: not recognised yet. */
  recognisedAs: string | null;
  /** Whether the request came without a known valid key. */
  isUnknown: boolean;
  /** The bytes of the budget that the request holds until the response is closed. Null: it holds none. */
  held: HeldBytes | null;
}

interface HeldBytes {
  readonly caller: string;
  bytes: number;
}

function createIntake({ bodies, unknownBytes: unknownMax = unknownBytes }: Sharing): Intake {
  let heldUnknown = 0;

  const hold = (share: Share, caller: string, bytes: number, reply: FastifyReply): HeldBytes => {
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
  const waitForMore = async (held: HeldBytes, bytes: number, reply: FastifyReply): Promise<boolean> => {
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
      if (heldUnknown + held > unknownMax) return false;
      heldUnknown += held;
      reply.raw.on('close', () => {
        heldUnknown -= held;
      });
      share.isUnknown = true;
      return true;
    },
    read: (request, reply) => {
      const { share } = request;
      if (share === null || !share.isUnknown) return true;
      const { recognisedAs: caller, bodyBytes } = share;
      return caller === null ? bodyBytes <= unreadBytes : take(share, caller, bodyBytes, reply);
    },
    parse: (request, reply) => {
      const { body, share, headers } = request;
      if (share === null || !Buffer.isBuffer(body) || hasLeft(reply)) return true;
      const held = share.held ?? hold(share, unknownCallers, 0, reply);
      const parsing = { most: valuesMaxOf(share.bodyLimit), type: headers['content-type'] ?? '' };
      const more = bodies.parsedBytes(body, parsing) - held.bytes;
      if (more <= 0) return true;
      if (!bodies.takeMore(held.caller, more, held.bytes)) return waitForMore(held, more, reply);
      held.bytes += more;
      return true;
    },
  };
}

/** Returns the maximum number of values in a body. A body with more values is refused before it is parsed. */
const valuesMaxOf = (bodyLimit: number): number =>
  bodyLimit > bounds.bodyBytes ? Math.max(bounds.toolOutputNodes, bounds.policySetNodes) : bounds.jsonNodes;

/**
 * Returns the number of bytes with which a body is counted. A body that is too long is not read, so it counts as 0. A
 * body of unknown length counts as the limit.
 */
function bodyBytesOf({ headers }: FastifyRequest, bodyLimit: number): number {
  if (headers['transfer-encoding'] !== undefined) return bodyLimit;
  const said = Number(headers['content-length'] ?? 0);
  return said > bodyLimit ? 0 : said;
}

type AnswerCrowded = (request: FastifyRequest, reply: FastifyReply, refusal: EntranceRefusal) => void;

declare module 'fastify' {
  interface FastifyRequest {
    /** Null: the request takes no turn and has no body. */
    share: Share | null;
  }
  interface FastifyContextConfig {
    /** Writes the refusal in the route's own format if there is no memory for the body of a request. */
    readonly answerCrowded?: AnswerCrowded;
    /**
     * The request takes no turn and has no body. This is for health checks, which must not depend on the load from
     * other requests.
     */
    readonly takesNoTurn?: true;
  }
}

const crowded: EntranceRefusal & { readonly retryAfterMs: number } = {
  status: 429,
  code: 'request_limit',
  error: 'too many body bytes of this caller are in progress; try again when earlier requests are answered',
  retryAfterMs: 1_000,
};

/**
 * Refuses a request in the format of its route. If the route has no format for this, uses the common denial format. So
 * even a client that reads only the decision sees a denial.
 */
function refuse(request: FastifyRequest, reply: FastifyReply): void {
  const { answerCrowded } = request.routeOptions.config;
  if (answerCrowded !== undefined) return answerCrowded(request, reply, crowded);
  const { status, code, error, retryAfterMs } = crowded;
  void reply
    .code(status)
    .headers(retryHeader(retryAfterMs))
    .send({ error, decision: 'deny', action: 'block', reason: `${code}: ${error}`, kind: reasons[code], retryAfterMs });
}
