// Forwards one permitted call to the tool's server and returns the answer. States: asked (nothing has arrived) →
// answering (the head has arrived and the body is being sent) → recorded (the outcome is recorded, exactly once).
import { EventEmitter } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { recordedInTurn, unrecordable } from '../../engine/govern/recorded.ts';
import type { GovernedRun } from '../../engine/govern/run.ts';
import { deliverStreamed, lookOf, type OutputLook } from '../../engine/govern/streamed.ts';
import type { Permit } from '../../engine/govern/verdict.ts';
import type { Sidecar } from '../sidecar.ts';
import type { CallOutcome, CallSpan } from '../../telemetry/tracing.ts';
import type { Headers } from '../entrance/caller-headers.ts';
import { blockedBody } from '../denial-body.ts';
import { type AnswerOutcome, isEmpty, lookedThrough, noText, redactedJson, streamed, type Tell, treatmentOf } from './answer.ts';
import type { HttpTool } from '../../upstream/http-tool-definition.ts';
import { endToEnd, headerRedaction, requestHeaders, responseHeaders } from './headers.ts';
import type { HttpAsked, HttpForward } from './input.ts';
import { bytesLook, type Look } from './look.ts';

export interface Forwarding {
  readonly sidecar: Sidecar;
  readonly run: GovernedRun;
  readonly permit: Permit;
  readonly tool: HttpTool;
  readonly asked: HttpAsked;
  readonly forward: HttpForward;
  readonly departure: Departure;
  /** Undefined: the call is not traced. */
  readonly span: CallSpan | undefined;
  /** The preference of the caller that was applied. Null: none. */
  readonly applied: string | null;
}

/**
 * Passes a signal to the request that the proxy is making now. The signal emits `abort` when the caller has
 * disconnected. Null: the proxy is making no request.
 */
export interface Departure {
  signal: EventEmitter | null;
}

interface Answer {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  readonly stream: Readable;
}

export function forwardTo(forwarding: Forwarding, request: FastifyRequest, reply: FastifyReply): void {
  const { tool, asked, forward, permit, run, departure, span } = forwarding;
  const left = new EventEmitter();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) left.emit('abort');
  });
  const hasBody = forward.bytes.byteLength > 0;
  const look = lookOf(run, permit);
  departure.signal = left;
  try {
    reply.from(`${tool.basePath}${forward.path}` || '/', {
      body: hasBody ? forward.bytes : undefined,
      // The headers below set the same content type again.
      ...(hasBody ? { contentType: asked.body.contentType } : {}),
      queryString: () => forward.query.slice(1),
      // A call that may have taken effect must not be repeated.
      retryDelay: () => null,
      rewriteRequestHeaders: (_request, { host }) =>
        requestHeaders({
          tool,
          caller: span === undefined ? endToEnd(request.headers) : tracedBy(span, endToEnd(request.headers)),
          decided: forward.headers,
          contentType: asked.body.contentType,
          bytes: forward.bytes.byteLength,
          host: host ?? '',
          reads: look.redactor !== null,
          redact: redactionOf(run, look),
          isApproved: permit.decision.approval !== null,
          requestId: permit.requestId,
          method: request.method,
        }),
      rewriteHeaders: () => ({}),
      onResponse: (_request, _reply, res) => void answer(forwarding, answerOf(res), request, reply).catch((error) => crash(reply, error)),
      onError: (_reply, { error }) => void unanswered(forwarding, error, reply).catch((failure) => crash(reply, failure)),
    });
  } finally {
    departure.signal = null;
  }
}

/** Returns the header that names the applied preference, after those that the tool's server has applied. */
export function appliedHeader(applied: string | null, before: string | readonly string[] = []): Readonly<Record<string, string>> {
  return applied === null ? {} : { 'preference-applied': [before, applied].flat().join(', ') };
}

/** Returns the headers with the trace of our span in place of the caller's trace. */
const tracedBy = (span: CallSpan, headers: Headers): Headers => ({
  ...headers,
  traceparent: undefined,
  tracestate: undefined,
  ...span.headers(),
});

// The type declarations of the proxy describe the answer of a different HTTP client. The client that is used here
// returns this type.
const answerOf = (res: object): Answer => res as Answer;

/** Returns the redaction for headers, which are not part of the input or the output. Null: headers are not redacted. */
const redactionOf = ({ numbers }: GovernedRun, { redactor, replaces }: OutputLook) =>
  redactor === null || !replaces ? null : headerRedaction(redactor, numbers);

/** Handles a bug in Tollgate. The connection is destroyed to show the caller that nothing more will come. */
function crash(reply: FastifyReply, error: unknown): void {
  reply.log.error({ err: error }, 'the answer of a tool could not be sent to the caller because of an internal error');
  reply.raw.destroy();
}

function tellOf({ sidecar, permit, span }: Forwarding, status: number): Tell {
  return ({ digest, findings, blocked, broken }: AnswerOutcome) => {
    const durationMs = sidecar.govern.clock.now() - permit.decidedAt;
    const isError = status >= 400 || broken === true;
    span?.end({ isError, action: actionOf(permit, findings, blocked) });
    return recordedInTurn(sidecar, deliverStreamed(sidecar.govern, permit, { isError, durationMs, digest, findings, blocked }));
  };
}

function actionOf({ decision }: Permit, findings: AnswerOutcome['findings'], blocked: AnswerOutcome['blocked']): CallOutcome['action'] {
  if (blocked !== null) return 'block';
  return decision.transform === 'redact' && findings.length > 0 ? 'redact' : 'pass';
}

async function answer(forwarding: Forwarding, from: Answer, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { run, permit, applied } = forwarding;
  const look = lookOf(run, permit);
  const tell = tellOf(forwarding, from.statusCode);
  const length = textOf(from.headers['content-length']);
  const hasBody = request.method !== 'HEAD' && ![204, 205, 304].includes(from.statusCode) && length !== '0';
  const head = { contentType: textOf(from.headers['content-type']), contentEncoding: textOf(from.headers['content-encoding']), hasBody };
  const treatment = treatmentOf(look, run.numbers, head);
  const passed = responseHeaders(from.headers, redactionOf(run, look));
  reply
    .code(from.statusCode)
    .headers({ ...passed, ...appliedHeader(applied, passed['preference-applied']) })
    .header('x-tollgate-request-id', permit.requestId);
  switch (treatment.kind) {
    case 'block':
      from.stream.on('error', () => {});
      // If all chunks are empty, there is nothing to withhold.
      if (await isEmpty(from.stream)) return answerWhole(forwarding, reply, { tell, look: bytesLook(), bytes: new Uint8Array(0) });
      from.stream.destroy();
      await tell({ digest: null, findings: [], blocked: treatment.decision });
      return withhold(forwarding, reply, 403, blockedBody(treatment.decision, permit.requestId));
    case 'json':
      return answerJson(forwarding, reply, { tell, read: await redactedJson(from.stream, treatment.redactor, run.numbers) });
    case 'pass':
    case 'stream':
      // A body that arrived in the same packet as the head can be read only after this await.
      await Promise.resolve();
      if (hasBody && length !== undefined && from.stream.readableLength === Number(length))
        return answerWhole(forwarding, reply, { tell, look: treatment.look, bytes: wholeOf(from.stream) });
      if (treatment.kind === 'pass' && length !== undefined) reply.header('content-length', length);
      void reply.send(Readable.from(streamed(from.stream, treatment.look, tell), { objectMode: false }));
      // A client reads the stream only after it has received the head. So the head is sent now.
      if (!reply.raw.headersSent && reply.raw.writable) reply.raw.flushHeaders();
  }
}

const textOf = (value: string | readonly string[] | undefined): string | undefined => (typeof value === 'object' ? value[0] : value);

/** Returns the whole body, which has already arrived. Errors after its last byte are ignored. */
function wholeOf(stream: Readable): Uint8Array {
  stream.on('error', () => undefined);
  const bytes: unknown = stream.read();
  if (bytes === null) stream.resume();
  return bytes instanceof Uint8Array ? bytes : new Uint8Array(0);
}

interface WholeAnswer {
  readonly tell: Tell;
  readonly look: Look;
  readonly bytes: Uint8Array;
}

async function answerWhole(forwarding: Forwarding, reply: FastifyReply, { tell, look, bytes }: WholeAnswer): Promise<void> {
  const out = lookedThrough(look, bytes);
  const told = await tell({ ...look.told(), ...(out === null ? { blocked: noText, broken: true } : { blocked: null }) });
  if (out !== null && told) return void reply.send(out);
  const { requestId } = forwarding.permit;
  return withhold(forwarding, reply, 403, blockedBody(out === null ? noText : unrecordable, requestId));
}

interface JsonAnswer {
  readonly tell: Tell;
  readonly read: Awaited<ReturnType<typeof redactedJson>>;
}

async function answerJson(forwarding: Forwarding, reply: FastifyReply, { tell, read }: JsonAnswer): Promise<void> {
  const { requestId } = forwarding.permit;
  if (read === undefined) {
    await tell({ digest: null, findings: [], blocked: null, broken: true });
    return withhold(forwarding, reply, 502, failure('its answer ended too early', requestId));
  }
  if (read === null) {
    await tell({ digest: null, findings: [], blocked: noText });
    return withhold(forwarding, reply, 403, blockedBody(noText, requestId));
  }
  if (await tell({ ...read, blocked: null })) return void reply.send(Buffer.from(read.bytes));
  return withhold(forwarding, reply, 403, blockedBody(unrecordable, requestId));
}

/** Answers the caller with `status` and `body`, and sends nothing of the server's answer. */
function withhold({ permit }: Forwarding, reply: FastifyReply, status: number, body: object): void {
  for (const name of Object.keys(reply.getHeaders())) void reply.removeHeader(name);
  void reply.code(status).header('x-tollgate-request-id', permit.requestId).send(body);
}

const failure = (words: string, requestId: string): object => ({ error: `the tool's server failed: ${words}`, request_id: requestId });

async function unanswered(forwarding: Forwarding, error: Error, reply: FastifyReply): Promise<void> {
  await tellOf(forwarding, 502)({ digest: null, findings: [], blocked: null, broken: true });
  const codes = codesOf(error);
  const late = /TIMEOUT/.test(codes);
  const words = unreached.test(codes)
    ? 'it could not be reached'
    : `it ${late ? 'did not answer in time' : 'closed the connection, or its answer is not HTTP'}; it is not known whether the call took effect`;
  withhold(forwarding, reply, late ? 504 : 502, failure(words, forwarding.permit.requestId));
}

// Codes of errors that occur before anything of the call is sent.
const unreached = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|CERT|ERR_TLS/;

function codesOf(error: Error): string {
  const codes = [error, error.cause].flatMap((one) => (typeof one === 'object' && one !== null && 'code' in one ? [String(one.code)] : []));
  return codes.join(' ');
}
