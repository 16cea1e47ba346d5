// A tool that answers step by step: each value that it yields stands for all before it, and the last is its output. Where
// policy redacts, a value on the way may end in the middle of a secret that nobody recognises yet, so only the last one is
// handed on. The outcome is recorded before whoever reads hears of the end; who stops reading early has it recorded too.
import type { Permit } from '../../govern/verdict.ts';
import { type Tell, tellThrown } from './guarded.ts';

export async function* streamed(permit: Permit, source: AsyncIterable<unknown>, tell: Tell): AsyncGenerator<unknown, void> {
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
    // What was handed on already is what it came to.
    if (redacts) yield output;
  } catch (error) {
    throw told ? error : await tellThrown(permit, error, tellOnce);
  } finally {
    if (!told) await tellOnce(last, true);
  }
}

/** The last value that it yields, for whoever can wait for one value only. */
export async function lastOf(source: AsyncIterable<unknown>): Promise<unknown> {
  let last: unknown;
  for await (const value of source) last = value;
  return last;
}

export const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value && typeof value[Symbol.asyncIterator] === 'function';
