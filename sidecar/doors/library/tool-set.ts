// Governs tools in the form of the AI SDK. The result is the same set, but the run governs each `execute`. A tool
// without `execute` runs elsewhere (at a provider or in a browser) and cannot be stopped here. Such a tool must be
// named in `ungoverned`, otherwise it is refused.
import { AppError } from '@tollgate/proto/contract';
import type { ToolCall } from '../../engine/govern/govern.ts';
import { type Permit, ToolDenied, type Verdict } from '../../engine/govern/verdict.ts';
import { begun, type Guard, settled, type Tell, tellOf, tellThrown, waiting } from './guarded.ts';

/** A set of the AI SDK's tools, or of tools with the same form. */
export type ToolSet = Readonly<Record<string, object>>;

export interface GuardToolSetOptions {
  /**
   * The server that the tools come from. In the policy, the tool `search` of the server `docs` is `docs.search`.
   * Absent: the policy uses the tool's own name.
   */
  readonly server?: string;
  /** Tools without `execute` that stay unchanged. No policy decides about their actions. */
  readonly ungoverned?: readonly string[];
}

type Execute = (this: unknown, input: unknown, ...rest: readonly unknown[]) => unknown;

export function guardToolSet<T extends ToolSet>(guard: Guard, tools: T, { server, ungoverned = [] }: GuardToolSetOptions): T {
  const problems: string[] = [];
  for (const name of ungoverned)
    if (!Object.hasOwn(tools, name)) problems.push(`ungoverned names ${quoted(name)}, which is no tool of the set`);
  const entries = Object.entries(tools).map(([name, tool]) => {
    const execute: unknown = 'execute' in tool ? tool.execute : undefined;
    const isNamed = ungoverned.includes(name);
    if (typeof execute !== 'function') {
      if (!isNamed) problems.push(withoutExecute(name, tool));
      return [name, tool];
    }
    if (isNamed) problems.push(`ungoverned names ${quoted(name)}, which has an execute that can be governed`);
    return [name, withExecute(tool, governed(guard, server === undefined ? name : `${server}.${name}`, execute as Execute))];
  });
  if (problems.length > 0) throw new AppError({ code: 'bad_request', publicMessage: `guardTools: ${problems.join('; ')}` });
  // The type is still `T`: the names and tools are the same, and each governed `execute` has the same form.
  return Object.fromEntries(entries) as T;
}

const quoted = (name: string): string => JSON.stringify(name);

function withoutExecute(name: string, tool: object): string {
  const by = 'type' in tool && tool.type === 'provider' ? "the model's provider executes it" : 'it has no execute';
  return `the tool ${quoted(name)} cannot be governed here, because ${by}; leave it out, or name it in ungoverned`;
}

/**
 * Returns a copy of the tool with another `execute`. All other properties are kept, including getters and prototype.
 */
function withExecute(tool: object, execute: Execute): object {
  const prototype: unknown = Object.getPrototypeOf(tool);
  const copy: unknown = Object.create(typeof prototype === 'object' ? prototype : null, {
    ...Object.getOwnPropertyDescriptors(tool),
    execute: {
      // If the tool is a class instance, its `execute` needs the original object as `this`, not the copy.
      value(this: unknown, ...given: Parameters<Execute>) {
        return execute.apply(this === copy ? tool : this, given);
      },
      enumerable: true,
      configurable: true,
      writable: true,
    },
  });
  return copy as object;
}

/**
 * Returns a governed `execute`. The SDK checks immediately whether the result is a stream, so a stream must be returned
 * before anything is awaited.
 */
function governed(guard: Guard, tool: string, execute: Execute): Execute {
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

/** Returns the signal in the options that the AI SDK passes to `execute`. */
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
