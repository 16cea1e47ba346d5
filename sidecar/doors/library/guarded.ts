// Governs one call of a function. The call is decided and recorded before the function runs. Its output is recorded
// before it is returned. An exception is an outcome too.
import type { Delivery, Outcome } from '../../engine/govern/deliver.ts';
import type { ToolCall } from '../../engine/govern/govern.ts';
import { denialOf, type Permit, ToolDenied, type Verdict } from '../../engine/govern/verdict.ts';
import { errorFrom, messageOf, thrownData } from './thrown.ts';

/** The interface that governs a call: a run and its clock. */
export interface Guard {
  decide(call: ToolCall): Verdict | Promise<Verdict>;
  report(permit: Permit, outcome: Outcome): Delivery | Promise<Delivery>;
  now(): number;
}

/** Reports the outcome of a permitted call. Returns the part that its caller receives, or throws `ToolDenied`. */
export type Tell = (output: unknown, isError: boolean) => Promise<unknown>;

/** Calls `work` with the permitted input. Throws `ToolDenied`. */
export async function guarded(guard: Guard, call: ToolCall, work: (input: unknown) => unknown): Promise<unknown> {
  const verdict = await guard.decide(call);
  if (!verdict.allowed) throw new ToolDenied(verdict);
  const tell = tellOf(guard, verdict);
  return settled(verdict, begun(work, verdict.input), tell);
}

/** The immediate result. An exception becomes a rejected promise, for `settled`. */
export function begun(work: (input: unknown) => unknown, input: unknown): unknown {
  try {
    return work(input);
  } catch (thrown) {
    return Promise.reject(thrown);
  }
}

/** The part of the answer that the caller receives, when the answer is available. */
export async function settled(permit: Permit, answer: unknown, tell: Tell): Promise<unknown> {
  let output: unknown;
  try {
    output = await answer;
  } catch (thrown) {
    throw await tellThrown(permit, thrown, tell);
  }
  return tell(output, saysError(output));
}

/** Starts to measure the duration of the call. */
export function tellOf(guard: Guard, permit: Permit): Tell {
  const startedAt = guard.now();
  return async (output, isError) => delivered(permit, await guard.report(permit, { output, isError, durationMs: guard.now() - startedAt }));
}

/** The value that the caller receives in place of an exception of a tool. */
export async function tellThrown(permit: Permit, thrown: unknown, tell: Tell): Promise<unknown> {
  const redacts = permit.decision.transform === 'redact';
  const output = await tell(redacts ? thrownData(thrown) : messageOf(thrown), true);
  // The text of a denial was redacted when it was created.
  return redacts && !(thrown instanceof ToolDenied) ? errorFrom(output) : thrown;
}

function delivered(permit: Permit, { action, output, decision }: Delivery): unknown {
  if (action !== 'block' || decision === null) return output;
  throw new ToolDenied(denialOf(permit.tool, permit.requestId, decision, permit.findings));
}

/** MCP tools report their failures as results. */
const saysError = (output: unknown): boolean =>
  typeof output === 'object' && output !== null && 'isError' in output && output.isError === true;
