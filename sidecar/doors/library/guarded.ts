// Governs one call of a function. The call is decided and recorded before the function runs. Its output is recorded
// before it is returned. An exception is an outcome too.
import type { Delivery, Outcome } from '../../engine/govern/deliver.ts';
import type { ToolCall } from '../../engine/govern/govern.ts';
import { denialOf, type Permit, ToolDenied, type Verdict } from '../../engine/govern/verdict.ts';
import { errorFrom, messageOf, thrownData } from './thrown.ts';

export interface DecideOptions {
  /**
   * How long to wait for the answer if policy asks a person for the call, in ms. The rule may set a shorter time. Absent
   * or 0: the verdict is a denial with `asked`.
   */
  readonly waitMs?: number;
  /** Aborted: the call will not be made. A wait ends, and a use of an approval is given back. */
  readonly signal?: AbortSignal | undefined;
  /** Called when the call begins to wait for a person, with the id of the approval. */
  readonly onAsked?: (approvalId: string) => void;
}

/** The interface that governs a call: a run and its clock. */
export interface Guard {
  decide(call: ToolCall, options?: DecideOptions): Verdict | Promise<Verdict>;
  report(permit: Permit, outcome: Outcome): Delivery | Promise<Delivery>;
  now(): number;
}

/**
 * Reports the outcome of a permitted call. Returns the part of the output that the caller receives, or throws
 * `ToolDenied`.
 */
export type Tell = (output: unknown, isError: boolean) => Promise<unknown>;

/** Returns the options of a caller that waits for a person as long as the rule says. `signal`: anything. */
export const waiting = (signal: unknown): DecideOptions =>
  signal instanceof AbortSignal ? { waitMs: Number.POSITIVE_INFINITY, signal } : patient;

const patient: DecideOptions = Object.freeze({ waitMs: Number.POSITIVE_INFINITY });

/** Decides the call, runs `work` with the permitted input and returns its output. Throws `ToolDenied`. `options`: in place of how long the rule says. */
export async function guarded(
  guard: Guard,
  call: ToolCall,
  work: (input: unknown) => unknown,
  signal?: unknown,
  options: DecideOptions = {},
): Promise<unknown> {
  const verdict = await guard.decide(call, { ...waiting(signal), ...options });
  if (!verdict.allowed) throw new ToolDenied(verdict);
  const tell = tellOf(guard, verdict);
  return settled(verdict, begun(work, verdict.input), tell);
}

/**
 * Starts `work` and returns its result, which may be a promise. An exception becomes a rejected promise, so that
 * `settled` handles it.
 */
export function begun(work: (input: unknown) => unknown, input: unknown): unknown {
  try {
    return work(input);
  } catch (thrown) {
    return Promise.reject(thrown);
  }
}

/** Waits for the answer of the tool. Returns the part that the caller receives. */
export async function settled(permit: Permit, answer: unknown, tell: Tell): Promise<unknown> {
  let output: unknown;
  try {
    output = await answer;
  } catch (thrown) {
    throw await tellThrown(permit, thrown, tell);
  }
  return tell(output, saysError(output));
}

/** Starts to measure the duration of the call. Returns the function that reports its outcome. */
export function tellOf(guard: Guard, permit: Permit): Tell {
  const startedAt = guard.now();
  return async (output, isError) => delivered(permit, await guard.report(permit, { output, isError, durationMs: guard.now() - startedAt }));
}

/** Reports an exception of a tool. Returns the value to throw to the caller in its place. */
export async function tellThrown(permit: Permit, thrown: unknown, tell: Tell): Promise<unknown> {
  const redacts = permit.decision.transform === 'redact';
  const output = await tell(redacts ? thrownData(thrown) : messageOf(thrown), true);
  // A denial is passed on unchanged, because its text was redacted when it was created.
  return redacts && !(thrown instanceof ToolDenied) ? errorFrom(output) : thrown;
}

function delivered(permit: Permit, { action, output, decision }: Delivery): unknown {
  if (action !== 'block' || decision === null) return output;
  throw new ToolDenied(denialOf(permit.tool, permit.requestId, decision, permit.findings));
}

/** Whether an output says that the tool failed. MCP tools report their failures as results. */
const saysError = (output: unknown): boolean =>
  typeof output === 'object' && output !== null && 'isError' in output && output.isError === true;
