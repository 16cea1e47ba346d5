// Contains the common code of both mesh services. It finds the run of a request that another gateway asks about, and
// decides the request.
import type { DenyCode } from '@tollgate/proto/contract';
import { type JudgedCall, judge, type Takes, type ToolCall } from '../../engine/govern/govern.ts';
import { recordedForCaller } from '../../engine/govern/recorded.ts';
import type { GovernedRun } from '../../engine/govern/run.ts';
import type { Verdict } from '../../engine/govern/verdict.ts';
import { unboundName } from '../besides.ts';
import { claimedBy, type Headers, readCallerHeaders } from '../entrance/caller-headers.ts';
import type { Entrance } from '../entrance/entrance.ts';
import type { EntranceRefusal } from '../entrance/key.ts';
import { MemoryIsFull } from '../entrance/body-memory.ts';
import { traceOfCall } from '../traced-call.ts';

export interface MeshDeps extends Entrance {
  /** Receives an error that is a bug in Tollgate, for the log. */
  readonly failed: (error: unknown) => void;
}

/** The reason why a request is refused without a decision. No entry is written. */
export interface Refusal {
  readonly status: 400 | 500 | EntranceRefusal['status'];
  readonly code: DenyCode;
  readonly words: string;
  readonly retryAfterMs?: number;
}

export const malformed = (words: string): { readonly refusal: Refusal } => ({ refusal: { status: 400, code: 'call_malformed', words } });

/** Finds the run of the caller that sent the request with these headers. Header names are in lower case. */
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
  /** The content type of `text`. Absent: JSON. */
  readonly type?: string;
  readonly gone?: AbortSignal;
}

/**
 * Holds memory for the parsed text while `work` runs. If there is no memory in time, the request is refused with a
 * retry delay.
 */
export async function withMemory<T>(
  { bodies }: MeshDeps,
  { run, text, gone, ...parsing }: Reading,
  work: () => T | Promise<T>,
  refused: (refusal: Refusal) => T | Promise<T>,
): Promise<T> {
  let giveBack: () => void;
  try {
    giveBack = await bodies.hold(run.claim.identity.keyId, text, { ...parsing, ...(gone === undefined ? {} : { signal: gone }) });
  } catch (error) {
    if (!(error instanceof MemoryIsFull)) throw error;
    return refused({ status: 429, code: 'request_limit', words: `${error.message}; try again later`, retryAfterMs: 1_000 });
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
  /** Returns what the tool receives besides the input of the call, as people are shown it. */
  readonly besides: () => NonNullable<ToolCall['besides']>;
  /**
   * Aborted when the other gateway no longer waits for the answer. In that case the other gateway does not make the
   * call.
   */
  readonly gone: AbortSignal;
  readonly forwards: Takes;
  /** The headers of the request. They may contain a trace. */
  readonly headers: Headers;
}

/** Decides and records one call. The other gateway makes the call and passes the trace to its tool. */
export const decided = async (deps: MeshDeps, deciding: Deciding): Promise<Verdict> => (await decidedFirst(deps, deciding)).verdict;

/**
 * Like `decided`, for a call that is made only if other calls are permitted too. If they are not permitted, the
 * decision can be taken back with `judged`.
 */
export async function decidedFirst(
  { sidecar, metrics, tracing }: MeshDeps,
  { run, call, besides, gone, forwards, headers }: Deciding,
): Promise<{ readonly verdict: Verdict; readonly judged: JudgedCall }> {
  const startedAt = sidecar.govern.clock.now();
  const span = tracing?.begin(call.tool, headers);
  const asked: ToolCall = {
    ...call,
    trace: traceOfCall(span, headers),
    // Most calls are not asked for.
    get besides() {
      return besides();
    },
  };
  // No call is held: a gateway waits a few seconds at most.
  const judged = await judge(sidecar.govern, run, asked, { forwards, gone });
  const verdict = await recordedForCaller(sidecar, judged, gone);
  metrics.decided(verdict.decision, sidecar.govern.clock.now() - startedAt);
  span?.decided(verdict, run);
  span?.end();
  return { verdict, judged };
}

/** The parts of a gRPC call that are used here. */
interface Call<Request> {
  readonly request: Request;
  readonly cancelled: boolean;
  once(event: 'cancelled', listener: () => void): unknown;
}

/** Computes an answer. `gone` is aborted when the other gateway has ended the call, for example after its timeout. */
type Answering<Request, Answer> = (request: Request, gone: AbortSignal) => Promise<Answer>;

/** Answers gRPC calls and never returns an error, because some gateways treat an error as permission. */
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

// The caller's key, and what the caller states about itself, are only for Tollgate. They are not forwarded.
const ours = /^(?:authorization|x-tollgate-.*)$/;

/** Returns the names of the headers that must not be forwarded. `isApproved`: a person has approved the call. */
export const headersToRemove = (headers: Headers, isApproved = false): readonly string[] =>
  Object.keys(headers).filter((name) => (ours.test(name) && name !== 'x-tollgate-request-id') || (isApproved && name === unboundName));

/**
 * Returns the headers that the tool receives. The path, method and scheme are left out. The input already contains the
 * path, decoded.
 */
export function forwardedHeaders(headers: Headers): Headers {
  const removed = new Set([...headersToRemove(headers), ':path', ':method', ':scheme']);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !removed.has(name)));
}
