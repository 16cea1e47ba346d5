// Governs a tool that answers in steps. Each value replaces all earlier ones, and the last is the output. If the policy
// redacts, only the last value is returned, because an earlier value may end in the middle of a secret that is not
// recognisable yet. The outcome is recorded before the reader receives the end. It is also recorded if the reader stops
// early.
import type { Permit } from '../../engine/govern/verdict.ts';
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
    // Without redaction the output was already returned as the last step.
    if (redacts) yield output;
  } catch (error) {
    throw told ? error : await tellThrown(permit, error, tellOnce);
  } finally {
    if (!told) await tellOnce(last, true);
  }
}

/** The last value of the stream, for callers that accept only one value. */
export async function lastOf(source: AsyncIterable<unknown>): Promise<unknown> {
  let last: unknown;
  for await (const value of source) last = value;
  return last;
}

export const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value && typeof value[Symbol.asyncIterator] === 'function';
