// Handles the output of a call, after `govern.ts` has decided the call. It decides which part of the output may reach
// the model, or that none of it may. It also builds the entry about the outcome.
import { digestText, type Finding } from '@tollgate/proto/contract';
import { decide } from '../decide/decide.ts';
import type { Decision } from '../decide/decision.ts';
import { refuse } from '../decide/refusal.ts';
import { CallInput } from './call-input.ts';
import { type Flaw, type JudgedResult, type Takes, type ToolCall, takesValue } from './govern.ts';
import type { GovernDeps } from './governing.ts';
import { outcomeEntry, withdrawnEntry } from './outcome-entry.ts';
import { outputSize, payloadOf, redactPayload, withRedactedWords } from './payload.ts';
import { type GovernedRun, rebind } from './run.ts';
import type { DecidedCall } from './verdict.ts';

export interface Outcome {
  readonly output: unknown;
  /** The output as JSON text, exactly as the tool wrote it. Doors that forward text set it. It is redacted in place. */
  readonly json?: string;
  readonly isError: boolean;
  readonly durationMs: number;
  /** A fault that the door found in the output. The output is withheld because of it. */
  readonly flaw?: Flaw | undefined;
}

/** What is done with a tool's output. */
export interface Delivery {
  readonly action: 'pass' | 'redact' | 'block';
  readonly output: unknown;
  /** The text of an output that was redacted in place. */
  readonly json?: string;
  readonly findings: readonly Finding[];
  /** Why the output was blocked. Null: it was not blocked. */
  readonly decision: Decision | null;
}

/**
 * Handles a call that was not decided here, but whose outcome is still reported here. The current policy decides the
 * call now. The call is not counted.
 */
export function unannounced(deps: GovernDeps, run: GovernedRun, call: ToolCall): DecidedCall {
  const { tool, also, flaw, trace = null } = call;
  const requestId = deps.newId();
  const held = new CallInput(deps, call);
  try {
    const bound = rebind(deps, run);
    const barred = 'barred' in bound ? bound.barred : null;
    const { decidedBy } = run;
    const payload = payloadOf(call.input, false);
    if ('problem' in payload) {
      const malformed = flaw ?? { code: 'call_malformed' as const, words: `the input ${payload.problem}` };
      return { tool, requestId, decision: barred ?? refuse(malformed.code, malformed.words), decidedBy, inputDigest: '', trace };
    }
    const decision =
      'barred' in bound
        ? bound.barred
        : flaw === undefined
          ? decide(bound.caller, tool, run.usage, deps.cell.freshness, deps.clock.now(), also, held)
          : refuse(flaw.code, flaw.words);
    const kept = decision.storedTransform === 'log' ? payload.text : redactPayload(run, tool, payload).text;
    return { tool, requestId, decision: withRedactedWords(run, tool, decision), decidedBy, inputDigest: digestText(kept), trace };
  } catch {
    return { tool, requestId, decision: failed, decidedBy: run.decidedBy, inputDigest: '', trace };
  }
}

// Used for a bug anywhere in Tollgate. Nothing passes, and the entry says so.
const failed = refuse('internal_error', 'the result of the call could not be examined');

export interface JudgedDelivery extends JudgedResult<Delivery> {
  /** JSON text of the output in the form that policy allows to be stored. Null: nothing of it is stored. */
  readonly kept: string | null;
}

/**
 * Decides which part of a call's output reaches the model, and builds the entry about the outcome. `takes`: whether the
 * door can replace the output.
 */
export function deliver(deps: GovernDeps, run: GovernedRun, call: DecidedCall, outcome: Outcome, takes: Takes = true): JudgedDelivery {
  const { delivery, kept } = withholdsOutput(call.decision)
    ? { delivery: block(call.decision), kept: null }
    : outcome.flaw === undefined
      ? examineSafely(run, call, outcome, takes)
      : { delivery: block(refuse(outcome.flaw.code, outcome.flaw.words)), kept: null };
  const entry = outcomeEntry(deps, call, {
    isError: outcome.isError,
    durationMs: outcome.durationMs,
    outputDigest: kept === null ? null : digestText(kept),
    action: delivery.action,
    findings: delivery.findings,
    blocked: delivery.decision,
  });
  return {
    result: delivery,
    entry,
    kept,
    unrecorded: (why) => (call.decidedBy.mayGoUnrecorded ? delivery : block(why)),
    ...(delivery.action !== 'block' && { withdrawn: (why) => withdrawnEntry(deps, call, { ...outcome, why }) }),
  };
}

interface ExaminedOutput {
  readonly delivery: Delivery;
  readonly kept: string | null;
}

/**
 * Examines the output. An error that is thrown here is a bug in Tollgate and must not look like a failure of the tool.
 */
function examineSafely(run: GovernedRun, call: DecidedCall, outcome: Outcome, takes: Takes): ExaminedOutput {
  try {
    return examine(run, call, outcome, takes);
  } catch {
    return { delivery: block(failed), kept: null };
  }
}

function examine(
  run: GovernedRun,
  { tool, decision: { transform, storedTransform } }: DecidedCall,
  { output, json }: Outcome,
  takes: Takes,
): ExaminedOutput {
  const payload = payloadOf(output, transform === 'redact', outputSize);
  if ('problem' in payload) {
    const unreadable = refuse('redaction_unsupported', `policy redacts the output, but the output ${payload.problem}`);
    return { delivery: transform === 'redact' ? block(unreadable) : pass(output), kept: null };
  }
  if (transform === 'log' && storedTransform === 'log') return { delivery: pass(output), kept: payload.text };
  const { value, text, json: written, findings } = redactPayload(run, tool, json === undefined ? payload : { ...payload, json });
  if (transform === 'redact' && findings.length > 0 && !takesValue(takes, value)) {
    const kinds = findings.map(({ kind }) => kind).join(', ');
    const words = `policy redacts the output (${kinds}), and this caller cannot take a changed one`;
    return { delivery: { ...block(refuse('redaction_unsupported', words)), findings }, kept: text };
  }
  const replaced: Delivery = {
    action: findings.length > 0 ? 'redact' : 'pass',
    output: value,
    ...(written === undefined ? {} : { json: written }),
    findings,
    decision: null,
  };
  return { delivery: transform === 'redact' ? replaced : { ...pass(output), findings }, kept: text };
}

const pass = (output: unknown): Delivery => ({ action: 'pass', output, findings: [], decision: null });

// The output is withheld if policy denies the call. It is not withheld because of limits and caps, which apply to calls
// and not to outcomes. So a call that was not decided here may still receive its outcome.
const withholdsOutput = ({ decision, attempt, code }: Decision): boolean => decision === 'deny' && (!attempt || code === 'policy_denied');

const block = (decision: Decision): Delivery => ({ action: 'block', output: null, findings: [], decision });
