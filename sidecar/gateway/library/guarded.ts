// One governed call of a function: decided and recorded before it is reached, its output recorded before it is handed on.
// What it throws is an outcome too.
import type { Delivery, Outcome } from '../../govern/deliver.ts';
import type { ToolCall } from '../../govern/govern.ts';
import { denialOf, type Permit, ToolDenied, type Verdict } from '../../govern/verdict.ts';
import { errorFrom, messageOf, thrownData } from './thrown.ts';

/** What a call is governed by: a run, and the clock it lasts on. */
export interface Guard {
  decide(call: ToolCall): Verdict | Promise<Verdict>;
  report(permit: Permit, outcome: Outcome): Delivery | Promise<Delivery>;
  now(): number;
}

/** Tells what a permitted call came to; answers what its caller gets of it, or throws `ToolDenied`. */
export type Tell = (output: unknown, isError: boolean) => Promise<unknown>;

/** Calls `work` with the input that was permitted. Throws `ToolDenied`. */
export async function guarded(guard: Guard, call: ToolCall, work: (input: unknown) => unknown): Promise<unknown> {
  const verdict = await guard.decide(call);
  if (!verdict.allowed) throw new ToolDenied(verdict);
  const tell = tellOf(guard, verdict);
  return settled(verdict, begun(work, verdict.input), tell);
}

/** What it answers at once; what it throws as a promise, for `settled`. */
export function begun(work: (input: unknown) => unknown, input: unknown): unknown {
  try {
    return work(input);
  } catch (thrown) {
    return Promise.reject(thrown);
  }
}

/** What its caller gets of the answer, once it is there. */
export async function settled(permit: Permit, answer: unknown, tell: Tell): Promise<unknown> {
  let output: unknown;
  try {
    output = await answer;
  } catch (thrown) {
    throw await tellThrown(permit, thrown, tell);
  }
  return tell(output, saysError(output));
}

/** Begins the time that the call takes. */
export function tellOf(guard: Guard, permit: Permit): Tell {
  const startedAt = guard.now();
  return async (output, isError) => delivered(permit, await guard.report(permit, { output, isError, durationMs: guard.now() - startedAt }));
}

/** What its caller gets for what a tool threw. */
export async function tellThrown(permit: Permit, thrown: unknown, tell: Tell): Promise<unknown> {
  const redacts = permit.decision.transform === 'redact';
  const output = await tell(redacts ? thrownData(thrown) : messageOf(thrown), true);
  // The words of a denial were redacted where it was made.
  return redacts && !(thrown instanceof ToolDenied) ? errorFrom(output) : thrown;
}

function delivered(permit: Permit, { action, output, decision }: Delivery): unknown {
  if (action !== 'block' || decision === null) return output;
  throw new ToolDenied(denialOf(permit.tool, permit.requestId, decision, permit.findings));
}

/** MCP tools report their failures as results. */
const saysError = (output: unknown): boolean =>
  typeof output === 'object' && output !== null && 'isError' in output && output.isError === true;
