// Governs the `execute` of a tool of the AI SDK or of Mastra. Both tell their model about an exception, so a denial is
// thrown.
import type { ToolCall } from '../../engine/govern/govern.ts';
import { type Permit, ToolDenied, type Verdict } from '../../engine/govern/verdict.ts';
import type { Method } from './copy-with.ts';
import { begun, type Guard, settled, type Tell, tellOf, tellThrown, waiting } from './guarded.ts';

/**
 * Returns a governed `execute`. The SDK checks immediately whether the result is a stream, so a stream must be returned
 * before anything is awaited.
 */
export function governedExecute(guard: Guard, tool: string, execute: Method): Method {
  const isStream = Object.prototype.toString.call(execute) === '[object AsyncGeneratorFunction]';
  return function call(input, ...rest) {
    const work: Work = (permitted) => execute.call(this, permitted, ...rest);
    const signal = signalIn(rest[0]);
    if (isStream) return streamedCall(guard, { call: { tool, input }, signal }, work);
    const verdict = guard.decide({ tool, input }, waiting(signal));
    return verdict instanceof Promise ? awaitedCall(guard, verdict, work) : decidedCall(guard, verdict, work);
  };
}

type Work = (input: unknown) => unknown;

/** Returns the signal in the second argument of `execute`. */
const signalIn = (options: unknown): unknown =>
  typeof options === 'object' && options !== null && 'abortSignal' in options ? options.abortSignal : undefined;

interface StreamedCall {
  readonly call: ToolCall;
  readonly signal: unknown;
}

async function* streamedCall(guard: Guard, { call, signal }: StreamedCall, work: Work): AsyncGenerator<unknown, void> {
  const verdict = await guard.decide(call, waiting(signal));
  if (!verdict.allowed) throw new ToolDenied(verdict);
  const tell = tellOf(guard, verdict);
  yield* streamed(verdict, work(verdict.input) as AsyncIterable<unknown>, tell);
}

/**
 * Makes a call whose decision is a promise. After this promise is awaited, it is too late to return a stream. If
 * `execute` is a plain function and returns a stream, the last value of the stream is the answer.
 */
async function awaitedCall(guard: Guard, deciding: Promise<Verdict>, work: Work): Promise<unknown> {
  const verdict = await deciding;
  if (!verdict.allowed) throw new ToolDenied(verdict);
  const tell = tellOf(guard, verdict);
  const answer = begun(work, verdict.input);
  return settled(verdict, isAsyncIterable(answer) ? lastOf(answer) : answer, tell);
}

function decidedCall(guard: Guard, verdict: Verdict, work: Work): unknown {
  if (!verdict.allowed) return Promise.reject(new ToolDenied(verdict));
  const tell = tellOf(guard, verdict);
  const answer = begun(work, verdict.input);
  return isAsyncIterable(answer) ? streamed(verdict, answer, tell) : settled(verdict, answer, tell);
}

// Governs a tool that answers in steps. Each value replaces all earlier ones, and the last is the output. If the policy
// redacts, only the last value is returned, because an earlier value may end in the middle of a secret that is not
// recognisable yet. The outcome is recorded before the reader receives the end. It is also recorded if the reader stops
// early.

async function* streamed(permit: Permit, source: AsyncIterable<unknown>, tell: Tell): AsyncGenerator<unknown, void> {
  const redacts = permit.decision.transform === 'redact';
  let last: unknown;
  let told = false;
  const tellOnce: Tell = (output, isError) => {
    told = true;
    return tell(output, isError);
  };
  try {
    for await (const value of source) {
      last = value;
      if (!redacts) yield value;
    }
    const output = await tellOnce(last, false);
    // Without redaction the caller already received the output as the last step.
    if (redacts) yield output;
  } catch (error) {
    throw told ? error : await tellThrown(permit, error, tellOnce);
  } finally {
    if (!told) await tellOnce(last, true);
  }
}

/** Returns the last value of the stream, for callers that accept only one value. */
async function lastOf(source: AsyncIterable<unknown>): Promise<unknown> {
  let last: unknown;
  for await (const value of source) last = value;
  return last;
}

const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value && typeof value[Symbol.asyncIterator] === 'function';
