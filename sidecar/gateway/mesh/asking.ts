// What both services of the mesh have in common: whose request it is that another gateway asks about, and the decision.
import type { DenyCode } from '@tollgate/proto/contract';
import { judge, type JudgedCall, type Takes, type ToolCall } from '../../govern/govern.ts';
import { recordedForCaller } from '../../govern/recorded.ts';
import type { GovernedRun } from '../../govern/run.ts';
import type { Verdict } from '../../govern/verdict.ts';
import { claimedBy, type Headers, readCallerHeaders } from '../caller-headers.ts';
import type { Entrance } from '../entrance.ts';
import type { Barred } from '../key.ts';
import { NoRoom } from '../body-room.ts';
import { traceOfCall } from '../traced-call.ts';

export interface MeshDeps extends Entrance {
  /** A bug of ours, for the log. */
  readonly failed: (error: unknown) => void;
}

/** Why a request is not decided on; no entry is written. */
export interface Refusal {
  readonly status: 400 | 500 | Barred['status'];
  readonly code: DenyCode;
  readonly words: string;
  readonly retryAfterMs?: number;
}

export const malformed = (words: string): { readonly refusal: Refusal } => ({ refusal: { status: 400, code: 'call_malformed', words } });

/** The run of whoever sent the request with these headers, their names in lower case. */
export function runOf(
  { enter, sessions }: MeshDeps,
  headers: Headers,
  client: string,
): { readonly run: GovernedRun } | { readonly refusal: Refusal } {
  const entered = enter({ authorization: textOf(headers['authorization']), workspace: undefined });
  if ('status' in entered) {
    const { error, ...why } = entered;
    return { refusal: { ...why, words: error } };
  }
  const { identity } = entered;
  const said = readCallerHeaders(headers);
  if ('problem' in said) return malformed(said.problem);
  const ofProtocol = textOf(headers['mcp-session-id']) ?? '';
  const sessionId = /^[!-~]+$/.test(ofProtocol) ? ofProtocol : identity.keyId;
  return { run: sessions.find(identity, claimedBy(said, { client: { name: client }, sessionId })).run };
}

interface Reading {
  readonly run: GovernedRun;
  readonly text: Uint8Array;
  readonly most: number;
  /** Its content type. Absent: it is JSON. */
  readonly type?: string;
  readonly gone?: AbortSignal;
}

/** What is made of a text is there as long as `work` takes; where it finds no room in time, its caller may come again. */
export async function withRoom<T>(
  { bodies }: MeshDeps,
  { run, text, gone, ...parsing }: Reading,
  work: () => T | Promise<T>,
  refused: (refusal: Refusal) => T | Promise<T>,
): Promise<T> {
  let giveBack: () => void;
  try {
    giveBack = await bodies.hold(run.claim.identity.keyId, text, { ...parsing, ...(gone === undefined ? {} : { signal: gone }) });
  } catch (error) {
    if (!(error instanceof NoRoom)) throw error;
    return refused({ status: 429, code: 'request_limit', words: `${error.message}; come again later`, retryAfterMs: 1_000 });
  }
  try {
    return await work();
  } finally {
    giveBack();
  }
}

const textOf = (value: Headers[string]): string | undefined => (typeof value === 'string' ? value : undefined);

interface Deciding {
  readonly run: GovernedRun;
  readonly call: ToolCall;
  /** The other gateway waits for the answer no more: it makes no call. */
  readonly gone: AbortSignal;
  readonly forwards: Takes;
  /** Of the request. */
  readonly headers: Headers;
}

/** Decides and records one call. The other gateway makes it, and tells its tool of the trace. */
export const decided = async (deps: MeshDeps, deciding: Deciding): Promise<Verdict> => (await decidedFirst(deps, deciding)).verdict;

/** The same of a call that is made only if others are permitted too. */
export async function decidedFirst(
  { sidecar, metrics, tracing }: MeshDeps,
  { run, call, gone, forwards, headers }: Deciding,
): Promise<{ readonly verdict: Verdict; readonly judged: JudgedCall }> {
  const startedAt = sidecar.govern.clock.now();
  const span = tracing?.begin(call.tool, headers);
  const judged = await judge(sidecar.govern, run, { ...call, trace: traceOfCall(span, headers) }, { forwards, gone });
  const verdict = await recordedForCaller(sidecar, judged, gone);
  metrics.decided(verdict.decision, sidecar.govern.clock.now() - startedAt);
  span?.decided(verdict, run);
  span?.end();
  return { verdict, judged };
}

/** What of a gRPC call there is to know here. */
interface Call<Request> {
  readonly request: Request;
  readonly cancelled: boolean;
  once(event: 'cancelled', listener: () => void): unknown;
}

/** Who answers what: `gone` says that the other gateway has ended the call, as it does after its time-out. */
type Answering<Request, Answer> = (request: Request, gone: AbortSignal) => Promise<Answer>;

/** Answers gRPC calls, whatever happens: an error is what some gateways take for leave. */
export const answering =
  <Request, Answer>(deps: MeshDeps, answer: Answering<Request, Answer>, refused: (refusal: Refusal) => Answer) =>
  (call: Call<Request>, callback: (error: null, answer: Answer) => void): void => {
    const leaving = new AbortController();
    call.once('cancelled', () => leaving.abort());
    if (call.cancelled) leaving.abort();
    void answerCall(deps, answer(call.request, leaving.signal), refused, callback);
  };

async function answerCall<T>(
  deps: MeshDeps,
  asked: Promise<T>,
  refused: (refusal: Refusal) => T,
  callback: (error: null, answer: T) => void,
): Promise<void> {
  let answer: T;
  try {
    answer = await asked;
  } catch (error) {
    deps.failed(error);
    answer = refused({ status: 500, code: 'internal_error', words: 'the decision could not be made' });
  }
  callback(null, answer);
}

// The caller's key, and what it says of itself: for us, and no further.
const ours = /^(?:authorization|x-tollgate-.*)$/;

/** Which of a request's headers must not go on. */
export const headersToRemove = (headers: Headers): readonly string[] =>
  Object.keys(headers).filter((name) => ours.test(name) && name !== 'x-tollgate-request-id');

/** What of a request's headers its tool gets. The path is in the input already, decoded. */
export function goingOn(headers: Headers): Headers {
  const removed = new Set([...headersToRemove(headers), ':path', ':method', ':scheme']);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !removed.has(name)));
}
