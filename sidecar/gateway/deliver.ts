// What becomes of a call's output: whether it may reach the model, what of it, and the entry about that. The second half
// of a governed call, after `govern.ts` has decided it.
import { canonicalJson, type DenyCode, digestText, type Finding } from '@tollgate/proto/contract';
import { decide } from '../decide/decide.ts';
import type { Decision } from '../decide/decision.ts';
import { refuse } from '../decide/refusal.ts';
import { entryText } from './audit-entry.ts';
import { type GovernDeps, type GovernedRun, type Judged, mayGoUnrecorded, rebind, type ToolCall, unrecordable } from './govern.ts';
import { payloadOf, redactPayload, withRedactedWords } from './payload.ts';
import type { DecidedCall } from './verdict.ts';

export interface Outcome {
  readonly output: unknown;
  readonly isError: boolean;
  readonly durationMs: number;
}

/** What becomes of a tool's output. */
export interface Delivery {
  readonly action: 'pass' | 'redact' | 'block';
  readonly output: unknown;
  readonly findings: readonly Finding[];
  /** Why it was blocked. */
  readonly decision: Decision | null;
}

/** A call that nobody asked about here, whose outcome is told all the same: judged by today's policy, counted nowhere. */
export function unannounced(deps: GovernDeps, run: GovernedRun, { tool, input }: ToolCall): DecidedCall {
  const requestId = deps.newId();
  try {
    const decision = rebind(deps, run) ?? decide(run.caller, tool, run.usage, deps.cell.freshness, deps.clock.now());
    const text = canonicalJson(input);
    const kept = decision.storedTransform === 'log' ? text : redactPayload(run, tool, { value: input, text }).text;
    return { tool, requestId, decision: withRedactedWords(run, tool, decision), inputDigest: digestText(kept) };
  } catch {
    return { tool, requestId, decision: failed, inputDigest: '' };
  }
}

// A bug of ours, wherever it is: nothing passes, and the entry says so.
const failed = refuse('internal_error', 'what came of the call could not be examined');

/** What of a call's output reaches the model, and the entry about it. */
export function deliver(deps: GovernDeps, run: GovernedRun, call: DecidedCall, outcome: Outcome): Judged<Delivery> {
  const { delivery, digest } = withholdsOutput(call.decision)
    ? { delivery: block(call.decision), digest: null }
    : examineSafely(run, call, outcome.output);
  const blocked = delivery.decision === null ? {} : { code: blockCode(delivery.decision) };
  const entry = entryText(run.caller, run.facts, {
    hookEvent: 'PostToolUse',
    tool: call.tool,
    decision: call.decision,
    requestId: call.requestId,
    at: deps.clock.wall(),
    policyAgeMs: deps.clock.now() - deps.cell.freshness.heardAt,
    inputDigest: call.inputDigest,
    input: null,
    findings: delivery.findings,
    outcome: {
      isError: outcome.isError,
      durationMs: Math.round(outcome.durationMs),
      ...(digest === null ? {} : { outputDigest: digest }),
      action: delivery.action,
      ...blocked,
    },
  });
  return { result: delivery, entry, unrecorded: () => (mayGoUnrecorded(run) ? delivery : block(unrecordable)) };
}

interface Examined {
  readonly delivery: Delivery;
  readonly digest: string | null;
}

/** What fails here is ours, and must not look like a failure of the tool. */
function examineSafely(run: GovernedRun, call: DecidedCall, output: unknown): Examined {
  try {
    return examine(run, call, output);
  } catch {
    return { delivery: block(failed), digest: null };
  }
}

function examine(run: GovernedRun, { tool, decision: { transform, storedTransform } }: DecidedCall, output: unknown): Examined {
  const payload = payloadOf(output, transform === 'redact');
  if ('problem' in payload) {
    const unreadable = refuse('redaction_unsupported', `policy redacts the output, and it ${payload.problem}`);
    return { delivery: transform === 'redact' ? block(unreadable) : pass(output), digest: null };
  }
  if (transform === 'log' && storedTransform === 'log') return { delivery: pass(output), digest: digestText(payload.text) };
  const { value, text, findings } = redactPayload(run, tool, payload);
  const replaced: Delivery = { action: findings.length > 0 ? 'redact' : 'pass', output: value, findings, decision: null };
  return { delivery: transform === 'redact' ? replaced : { ...pass(output), findings }, digest: digestText(text) };
}

const pass = (output: unknown): Delivery => ({ action: 'pass', output, findings: [], decision: null });

// A call that policy would not have let happen is not rewarded with its output. Limits and caps speak of calls, not of
// outcomes: one that nobody asked about here may still be told what it came to.
const withholdsOutput = ({ decision, attempt, code }: Decision): boolean => decision === 'deny' && (!attempt || code === 'policy_denied');

const block = (decision: Decision): Delivery => ({ action: 'block', output: null, findings: [], decision });

const blockCode = ({ code }: Decision): DenyCode => (code === 'allowed' ? 'internal_error' : code);
