// What the servers that callers of tools reach by HTTP do with a request before it is known whose it is: callers, told apart by what they show, share the
// process. Requests of one caller take turns, of a connection one waits at a time, and bodies that are under way have room in bytes, of
// which a caller takes as much as it leaves to all others.
import { bounds, FairRoom, reasons } from '@tollgate/proto/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { retryHeader } from './denial-body.ts';
import type { Barred } from './key.ts';
import { createTurns, type TurnsDeps } from './turns.ts';

/** Open at a time; further ones are closed at once. */
const connectionsMax = 10_000;
/** As they were sent: what is read of them takes several times as much. */
const bodiesBytes = 32 * 1_048_576;

interface Sharing extends TurnsDeps {
  readonly bodiesBytes?: number;
}

export function shareFairly(app: FastifyInstance, { bodiesBytes: roomBytes = bodiesBytes, ...deps }: Sharing): void {
  const inTurn = createTurns(deps);
  const bodies = new FairRoom<string>(roomBytes);
  const waiting = new WeakSet<object>();
  app.server.maxConnections = connectionsMax;
  app.addHook('onRequest', (request, reply, done) => {
    const { socket } = request.raw;
    // A pipelined request while the one before it waits: only a flood sends such, and nothing would bound how many.
    if (waiting.has(socket)) return void socket.destroy();
    const caller = callerOf(request.headers.authorization ?? '');
    const bytes = bodyBytesOf(request);
    if (bytes > 0 && !bodies.take(caller, bytes)) return refuse(request, reply);
    if (bytes > 0) reply.raw.once('close', () => bodies.give(caller, bytes));
    waiting.add(socket);
    inTurn(caller, () => {
      waiting.delete(socket);
      done();
    });
  });
}

/** One caller however it writes its key: every door takes these forms for the same. */
const callerOf = (authorization: string): string => authorization.replace(/^bearer +/i, '');

/** What is longer than it may be is not read; one that does not say how long it is may be as long as any. */
function bodyBytesOf({ headers, routeOptions }: FastifyRequest): number {
  const most = routeOptions.bodyLimit ?? bounds.bodyBytes;
  if (headers['transfer-encoding'] !== undefined) return most;
  const said = Number(headers['content-length'] ?? 0);
  return said > most ? 0 : said;
}

type AnswerCrowded = (request: FastifyRequest, reply: FastifyReply, refusal: Barred) => void;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Answers in the words of the route where there is no room for the body of a request. */
    readonly answerCrowded?: AnswerCrowded;
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
