// One governed run: from a parsed call to a verdict and its entry, the same for every door. `judge` is one synchronous
// function: nothing can change between reading the snapshot and counting the call. Recording comes right after it, and
// a call that cannot be recorded is denied, unless the workspace has chosen otherwise.
import { canonicalJson, type DenyCode, digestText, type Finding, NotJson } from '@tollgate/proto/contract';
import { bindCaller } from '../decide/bind.ts';
import type { Caller } from '../decide/caller.ts';
import type { Claim } from '../decide/call.ts';
import { decide } from '../decide/decide.ts';
import type { Decision } from '../decide/decision.ts';
import { refuse } from '../decide/refusal.ts';
import type { RunUsage } from '../limits/usage.ts';
import { type Redaction, redact } from '../redact/redact.ts';
import type { PolicyCell } from '../snapshot/cell.ts';
import { entryText, type RunFacts } from './audit-entry.ts';
import type { DecidedCall, Denial, Permit, Verdict } from './verdict.ts';

export interface ToolCall {
  readonly tool: string;
  readonly input: unknown;
}

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

export interface Clock {
  /** Ms, never goes back. */
  now(): number;
  /** Ms since 1970. */
  wall(): number;
}

export interface GovernDeps {
  readonly cell: PolicyCell;
  readonly clock: Clock;
  readonly newId: () => string;
  /** Whether entries keep inputs, or only their digests. */
  readonly keepInput: boolean;
}

export interface GovernedRun {
  readonly facts: RunFacts;
  readonly claim: Claim;
  readonly usage: RunUsage;
  /** Of the snapshot last decided by. */
  caller: Caller;
}

export interface Judged<T> {
  readonly result: T;
  /** The text of its entry. */
  readonly entry: string;
  /** What to answer if the entry cannot be written. */
  readonly unrecorded: () => T;
}

/** Decides and counts one call. `forwards`: whether the door can replace the input by a redacted one. */
export function judge(deps: GovernDeps, run: GovernedRun, call: ToolCall, forwards: boolean): Judged<Verdict> {
  const startedAt = deps.clock.now();
  const requestId = deps.newId();
  let facts: Facts;
  try {
    facts = weigh(deps, run, call, { forwards, now: startedAt });
  } catch {
    // A bug of ours, wherever it is: nothing passes, and the entry says so.
    facts = { decision: refuse('internal_error', 'the decision could not be made'), input: null, digest: '', stored: null, findings: [] };
  }
  run.usage.record(facts.decision, startedAt);
  const verdict = verdictOf(call.tool, requestId, facts, startedAt);
  const entry = entryText(run.caller, run.facts, {
    hookEvent: 'PreToolUse',
    tool: call.tool,
    decision: facts.decision,
    requestId,
    at: deps.clock.wall(),
    policyAgeMs: startedAt - deps.cell.freshness.heardAt,
    inputDigest: facts.digest,
    input: deps.keepInput ? facts.stored : null,
    findings: facts.findings,
    latencyUs: Math.round((deps.clock.now() - startedAt) * 1000),
  });
  return { result: verdict, entry, unrecorded: () => (mayGoUnrecorded(run) ? verdict : denialOf(call.tool, requestId, unrecordable)) };
}

interface Facts {
  readonly decision: Decision;
  /** What the tool is to get. */
  readonly input: unknown;
  /** Of what the entry keeps. */
  readonly digest: string;
  /** What the entry keeps, as JSON text. */
  readonly stored: string | null;
  readonly findings: readonly Finding[];
}

function weigh(
  deps: GovernDeps,
  run: GovernedRun,
  { tool, input }: ToolCall,
  { forwards, now }: { readonly forwards: boolean; readonly now: number },
): Facts {
  const barred = rebind(deps, run);
  const decision = barred ?? decide(run.caller, tool, run.usage, deps.cell.freshness, now);
  const json = jsonOf(input);
  if ('problem' in json) {
    const malformed = decision === run.caller.halted || barred !== null ? decision : refuse('call_malformed', `the input ${json.problem}`);
    return { decision: malformed, input: null, digest: '', stored: null, findings: [] };
  }
  const { text } = json;
  if (decision.transform === 'log' && decision.stored === 'log')
    return { decision, input, digest: digestText(text), stored: text, findings: [] };
  const redacted = redactJson(input, text);
  const changed = redacted.findings.length > 0;
  const stored = changed ? canonicalJson(redacted.value) : text;
  // What was redacted must not be found again by trying values against a digest.
  const digest = digestText(stored);
  const replaces = decision.decision === 'allow' && decision.transform === 'redact';
  if (replaces && changed && !forwards) {
    const kinds = redacted.findings.map(({ kind }) => kind).join(', ');
    const unsupported = refuse('redaction_unsupported', `policy redacts the input (${kinds}), and this caller cannot take a changed one`, {
      attempt: true,
    });
    return { decision: unsupported, input: null, digest, stored, findings: redacted.findings };
  }
  return { decision, input: replaces ? redacted.value : input, digest, stored, findings: redacted.findings };
}

/** Brings the run to the snapshot held now; the decision where that already denies. */
function rebind({ cell, clock }: GovernDeps, run: GovernedRun): Decision | null {
  const index = cell.current;
  if (cell.refused !== null) return refuse('key_revoked', `the control plane refuses this sidecar's key: ${cell.refused}`);
  if (index === null) return refuse('snapshot_missing', 'no policy has been received yet');
  if (run.caller.index !== index) run.caller = bindCaller(index, run.claim);
  const expiresAt = run.caller.key?.expiresAt ?? null;
  return expiresAt !== null && clock.wall() >= expiresAt ? refuse('key_revoked', 'the key has expired') : null;
}

/** Canonical JSON of a value from outside, or why there is none: reading it may run code of its own, which may throw. */
function jsonOf(value: unknown): { readonly text: string } | { readonly problem: string } {
  try {
    return { text: canonicalJson(value) };
  } catch (error) {
    return { problem: error instanceof NotJson ? error.message : 'cannot be read' };
  }
}

/** What is looked at is the JSON that a value becomes, for a value may hide in `toJSON`, or in what JSON leaves out. */
function redactJson(value: unknown, text: string): Redaction {
  return value === undefined ? { value, findings: [] } : redact(JSON.parse(text));
}

const unrecordable = refuse('audit_unavailable', 'the entry could not be written to the spool');

const mayGoUnrecorded = (run: GovernedRun): boolean => run.caller.index.settings.auditUnavailable === 'allow';

function verdictOf(tool: string, requestId: string, { decision, input, digest, findings }: Facts, decidedAt: number): Verdict {
  if (decision.decision === 'deny') return { ...denialOf(tool, requestId, decision), findings };
  const permit: Permit = { allowed: true, requestId, tool, decision, findings, input, decidedAt, inputDigest: digest };
  return permit;
}

function denialOf(tool: string, requestId: string, decision: Decision): Denial {
  const { code, reason, kind, retryAfterMs } = decision;
  return { allowed: false, requestId, tool, decision, findings: [], code, reason, kind: kind ?? 'terminal', retryAfterMs };
}

/** A call that nobody asked about here, whose outcome is told all the same: judged by today's policy, counted nowhere. */
export function unannounced(deps: GovernDeps, run: GovernedRun, { tool, input }: ToolCall): DecidedCall {
  const decision = rebind(deps, run) ?? decide(run.caller, tool, run.usage, deps.cell.freshness, deps.clock.now());
  return { tool, requestId: deps.newId(), decision, inputDigest: digestText(canonicalJson(redact(input).value)) };
}

/** What of a call's output reaches the model, and the entry about it. */
export function deliver(deps: GovernDeps, run: GovernedRun, call: DecidedCall, outcome: Outcome): Judged<Delivery> {
  const { delivery, digest } = isBarred(call.decision)
    ? { delivery: block(call.decision), digest: null }
    : examine(call.decision, outcome.output);
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

function examine({ transform, stored }: Decision, output: unknown): { readonly delivery: Delivery; readonly digest: string | null } {
  const json = jsonOf(output);
  if ('problem' in json) {
    const unreadable = refuse('redaction_unsupported', `policy redacts the output, and it ${json.problem}`);
    return { delivery: transform === 'redact' ? block(unreadable) : pass(output), digest: null };
  }
  const { text } = json;
  if (transform === 'log' && stored === 'log') return { delivery: pass(output), digest: digestText(text) };
  const { value, findings } = redactJson(output, text);
  const digest = digestText(findings.length > 0 ? canonicalJson(value) : text);
  const replaced: Delivery = { action: findings.length > 0 ? 'redact' : 'pass', output: value, findings, decision: null };
  return { delivery: transform === 'redact' ? replaced : { ...pass(output), findings }, digest };
}

const pass = (output: unknown): Delivery => ({ action: 'pass', output, findings: [], decision: null });

// A call that policy would not have let happen is not rewarded with its output. Limits and caps speak of calls, not of
// outcomes: one that nobody asked about here may still be told what it came to.
const isBarred = ({ decision, attempt, code }: Decision): boolean => decision === 'deny' && (!attempt || code === 'policy_denied');

const block = (decision: Decision): Delivery => ({ action: 'block', output: null, findings: [], decision });

const blockCode = ({ code }: Decision): DenyCode => (code === 'allowed' ? 'internal_error' : code);
