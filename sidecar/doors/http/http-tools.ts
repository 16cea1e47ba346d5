// Serves HTTP tools under `/tools/<name>/…`. First the key, the head and the body of a request are checked, and the
// call is decided and recorded. Then one request, built from the decided input, is sent to the tool's server. The
// server's answer is streamed back, and its outcome is recorded.
import httpProxy from '@fastify/http-proxy';
import { AppError, bounds } from '@tollgate/proto/contract';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Agent, type Dispatcher } from 'undici';
import { judge } from '../../engine/govern/govern.ts';
import { recordedForCaller } from '../../engine/govern/recorded.ts';
import { heldBy } from '../../engine/govern/run.ts';
import { callerGone } from '../entrance/caller-gone.ts';
import { claimedBy, type Headers, readCallerHeaders } from '../entrance/caller-headers.ts';
import { denialAnswer, refusalBody, retryHeader } from '../denial-body.ts';
import { type Entrance, type LetIn, shownBy } from '../entrance/entrance.ts';
import { traceOfCall } from '../traced-call.ts';
import { publicError } from '../errors.ts';
import type { HttpTool } from '../../upstream/http-tool-definition.ts';
import { appliedHeader, type Departure, forwardTo } from './forward.ts';
import { headProblem } from './head.ts';
import { besidesOf, endToEnd } from './headers.ts';
import { forwardOf, type HttpAsked, namedHeaders, readHttpInput } from './input.ts';
import { preferredWait, withoutWait } from './prefer.ts';

interface HttpToolDoor extends Entrance {
  /** The HTTP tools, by name. */
  readonly tools: ReadonlyMap<string, HttpTool>;
}

const connectTimeoutMs = 10_000;
// The maximum time between two pieces of an answer. Servers that stream for a long time send something more often than
// this.
const silenceMs = 15 * 60_000;

export function registerHttpTools(app: FastifyInstance, deps: HttpToolDoor): void {
  void app.register((scope, _options, done) => {
    const agent = new Agent({ connect: { timeout: connectTimeoutMs }, bodyTimeout: silenceMs, pipelining: 1 });
    // `close` waits for calls in progress. When the process stops, it disconnects its callers in time, and that ends
    // the requests to the servers.
    scope.addHook('onClose', () => agent.close());
    // The whole body is read before the decision, up to a size limit. Only our own parser parses it.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: bounds.bodyBytes }, (_request, body, parsed) => parsed(null, body));
    scope.addHook('onRequest', (request, reply, letIn) => {
      if (admit(deps, request, reply)) letIn();
    });
    scope.setErrorHandler<FastifyError>((error, request, reply) => {
      const { status, message } = publicError(error);
      if (status >= 500) request.log.error({ err: error }, 'a request for an HTTP tool failed with an error of the sidecar');
      return reply.code(status).send(refusalBody(status >= 500 ? 'internal_error' : 'call_malformed', message));
    });
    for (const [name, tool] of deps.tools) registerTool(scope, deps, { name, tool, agent });
    done();
  });
}

/** Checks the head and the key, before a byte of the body is read. False: the request has been answered. */
function admit({ enter }: HttpToolDoor, request: FastifyRequest, reply: FastifyReply): boolean {
  const problem = headProblem(request.raw);
  if (problem !== null) {
    // The connection is closed, because another server might read the next bytes on it as a new request.
    void reply.code(400).header('connection', 'close').send(refusalBody('call_malformed', problem));
    return false;
  }
  const entered = enter(shownBy(request));
  if ('status' in entered) {
    const { status, code, error, retryAfterMs } = entered;
    void reply
      .code(status)
      .headers(retryHeader(retryAfterMs))
      .send(refusalBody(code, error, retryAfterMs));
    return false;
  }
  request.letIn = entered;
  return true;
}

interface Registration {
  readonly name: string;
  readonly tool: HttpTool;
  readonly agent: Agent;
}

function registerTool(scope: FastifyInstance, deps: HttpToolDoor, { name, tool, agent }: Registration): void {
  // The proxy has no parameter for an abort signal. This object passes the signal instead. That is safe, because the
  // proxy makes its request synchronously.
  const departure: Departure = { signal: null };
  const ask = (options: Dispatcher.RequestOptions, answered: AnswerCallback): void =>
    agent.request(Object.assign(options, { signal: departure.signal, headersTimeout: tool.timeoutMs }), (error, answer) => {
      if (error !== null) return answered(withoutBytes(error));
      if (answer.statusCode >= 200 && answer.statusCode <= 599) return answered(null, answer);
      answer.body.on('error', () => {}).destroy();
      return answered(Object.assign(new Error('the status of an answer of a tool server must be from 200 to 599'), { code: 'BAD_STATUS' }));
    });
  const request: Dispatcher['request'] = (...asked: readonly unknown[]) => Reflect.apply(ask, undefined, asked);
  void scope.register(httpProxy, {
    prefix: `/tools/${name}`,
    upstream: tool.origin,
    httpMethods: [...tool.methods],
    // Our own content type parsers read the body.
    proxyPayloads: false,
    undici: { request },
    disableRequestLogging: true,
    internalRewriteLocationHeader: false,
    // The handler does not wait for the call. `call` sends the answer later.
    handler: (asked, reply) => {
      const entered = asked.letIn;
      if (entered === null)
        throw new Error('the onRequest hook must check the key before the handler runs, but no caller is stored for this request');
      // The framework adds HEAD to each GET route, even if the tool does not accept HEAD.
      if (!tool.methods.some((method) => method === asked.method))
        throw new AppError({ code: 'not_found', publicMessage: `the tool does not accept the method ${asked.method}` });
      void call(deps, { name, tool, departure, ...entered }, asked, reply).catch((error: unknown) => reply.send(error));
    },
  });
}

type AnswerCallback = (error: Error | null, answer?: Dispatcher.ResponseData) => void;

/**
 * Returns a copy of the error without bytes from the server. The error of a parser contains such bytes, and the proxy
 * logs errors.
 */
function withoutBytes(error: Error): Error {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  return Object.assign(new Error(error.message), { code });
}

interface Calling extends LetIn {
  readonly name: string;
  readonly tool: HttpTool;
  readonly departure: Departure;
}

async function call(
  deps: HttpToolDoor,
  { name, tool, departure, identity }: Calling,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { sidecar, sessions, metrics, tracing } = deps;
  const startedAt = sidecar.govern.clock.now();
  const { shownHeaders } = heldBy(sidecar.govern.cell);
  const asked = askedOf(request, { name, tool, shownHeaders });
  // Each of these headers occurs only once, because a head with duplicates was refused.
  const headers = readCallerHeaders(request.headers);
  if ('problem' in headers) throw new AppError({ code: 'bad_request', publicMessage: headers.problem });
  const { run } = sessions.find(identity, claimedBy(headers, { client: { name: 'http' }, sessionId: identity.keyId }));
  const named = tool.nameByMethod ? `${name}.${request.method}` : name;
  const span = tracing?.begin(named, request.headers);
  const trace = traceOfCall(span, request.headers);
  const gone = callerGone(request, reply);
  const waitSeconds = preferredWait(textOf(request.headers['prefer']));
  const besides = (): Readonly<Record<string, unknown>> => besidesOf(endToEnd(request.headers), asked);
  const judged = judge(
    sidecar.govern,
    run,
    {
      tool: named,
      input: asked.input,
      isOwnInput: true,
      shownHeaders,
      trace,
      // Most calls are not asked for.
      get besides() {
        return besides();
      },
    },
    { forwards: (changed) => forwardOf(asked, changed) !== null, gone, holdMs: waitSeconds * 1_000 },
  );
  const verdict = await recordedForCaller(sidecar, judged, gone);
  metrics.decided(verdict.decision, sidecar.govern.clock.now() - startedAt);
  span?.decided(verdict, run);
  const { approval } = verdict.decision;
  const applied = approval !== null && waitSeconds > 0 ? `wait=${waitSeconds}` : null;
  if (!verdict.allowed) {
    const answer = denialAnswer(verdict);
    const location = approval === null ? {} : { location: `/govern/approvals/${encodeURIComponent(approval.approvalId)}` };
    return void reply
      .code(answer.status)
      .headers({ ...answer.headers, ...location, ...appliedHeader(applied) })
      .send(answer.body);
  }
  const forward = forwardOf(asked, verdict.input);
  if (forward === null) throw new Error('a permitted input must have a form that can be sent as an HTTP request, but this input has none');
  forwardTo({ sidecar, run, permit: verdict, tool, asked, forward, departure, span, applied }, request, reply);
}

interface AskedTool {
  readonly name: string;
  readonly tool: HttpTool;
  readonly shownHeaders: ReadonlySet<string>;
}

function askedOf(request: FastifyRequest, { name, tool, shownHeaders }: AskedTool): HttpAsked {
  const asked = readHttpInput({
    method: request.method,
    target: request.raw.url ?? '',
    prefix: `/tools/${name}`,
    byMethod: tool.nameByMethod,
    contentType: request.headers['content-type'],
    forwarded: forwardedOf(request, tool),
    named: namedHeaders(shownHeaders, pairsOf(request.raw.rawHeaders)),
    body: Buffer.isBuffer(request.body) ? request.body : new Uint8Array(0),
  });
  if (!('problem' in asked)) return asked;
  throw new AppError({ code: asked.status === 415 ? 'unsupported_media' : 'bad_request', publicMessage: asked.problem });
}

function forwardedOf({ headers }: FastifyRequest, { forwardHeaders }: HttpTool): Headers {
  if (forwardHeaders.length === 0) return {};
  const forwarded = Object.entries(endToEnd(headers)).filter(([header]) => forwardHeaders.includes(header));
  return Object.fromEntries(forwarded.map(([header, value]) => [header, header === 'prefer' ? withoutWait(textOf(value) ?? '') : value]));
}

/** Returns the names and values of raw headers, without the wait. Node joins or drops repeated headers elsewhere. */
function* pairsOf(rawHeaders: readonly string[]): Generator<readonly [string, string]> {
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2);
    const kept = name.toLowerCase() === 'prefer' ? withoutWait(value) : value;
    if (kept !== undefined) yield [name, kept];
  }
}

const textOf = (value: Headers[string]): string | undefined => (typeof value === 'object' ? value.join(', ') : value);
