// One governed run: from a parsed call to a verdict and its entry, the same for every door. `judge` is one synchronous
// function: nothing can change between reading the snapshot and counting the call. Recording comes right after it, and
// a call that cannot be recorded is denied, unless the workspace has chosen otherwise.
import { digestText, type Finding } from '@tollgate/proto/contract';
import type { Clock } from '../clock.ts';
import { bindCaller } from '../decide/bind.ts';
import type { Caller } from '../decide/caller.ts';
import type { Claim } from '../decide/call.ts';
import { decide } from '../decide/decide.ts';
import type { Decision } from '../decide/decision.ts';
import { refuse } from '../decide/refusal.ts';
import type { RunUsage } from '../limits/usage.ts';
import type { Numbers } from '../redact/index.ts';
import type { PolicyCell } from '../snapshot/cell.ts';
import { entryText, type RunFacts } from './audit-entry.ts';
import { payloadOf, redactPayload, withRedactedWords } from './payload.ts';
import { denialOf, type Permit, type Verdict } from './verdict.ts';

export interface ToolCall {
  readonly tool: string;
  readonly input: unknown;
}

export interface GovernDeps {
  readonly cell: PolicyCell;
  readonly clock: Pick<Clock, 'now' | 'wall'>;
  readonly newId: () => string;
  /** Whether entries keep inputs, or only their digests. */
  readonly keepInput: boolean;
}

export interface GovernedRun {
  readonly facts: RunFacts;
  readonly claim: Claim;
  readonly usage: RunUsage;
  /** Of what was redacted in it, shared with the runs it delegates to. */
  readonly numbers: Numbers;
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
  let weighed: Weighed;
  try {
    weighed = weigh(deps, run, call, { forwards, now: startedAt });
  } catch {
    // A bug of ours, wherever it is: nothing passes, and the entry says so.
    weighed = unkept(refuse('internal_error', 'the decision could not be made'));
  }
  const { decision, digest, kept, findings } = weighed;
  run.usage.record(decision, startedAt);
  const verdict = verdictOf(call.tool, requestId, weighed, startedAt);
  const entry = entryText(run.caller, run.facts, {
    hookEvent: 'PreToolUse',
    tool: call.tool,
    decision,
    requestId,
    at: deps.clock.wall(),
    policyAgeMs: startedAt - deps.cell.freshness.heardAt,
    inputDigest: digest,
    input: deps.keepInput ? kept : null,
    findings,
    latencyUs: Math.round((deps.clock.now() - startedAt) * 1000),
  });
  return { result: verdict, entry, unrecorded: () => (mayGoUnrecorded(run) ? verdict : denialOf(call.tool, requestId, unrecordable, [])) };
}

/** A call as it was decided, with what its tool gets and what its entry keeps. */
interface Weighed {
  readonly decision: Decision;
  /** For the tool. */
  readonly input: unknown;
  /** For the entry, as JSON text; null: nothing. */
  readonly kept: string | null;
  /** Of what the entry keeps. */
  readonly digest: string;
  readonly findings: readonly Finding[];
}

const unkept = (decision: Decision): Weighed => ({ decision, input: null, kept: null, digest: '', findings: [] });

function weigh(
  deps: GovernDeps,
  run: GovernedRun,
  { tool, input }: ToolCall,
  { forwards, now }: { readonly forwards: boolean; readonly now: number },
): Weighed {
  const barred = rebind(deps, run);
  const decision = withRedactedWords(run, tool, barred ?? decide(run.caller, tool, run.usage, deps.cell.freshness, now));
  const replaces = decision.decision === 'allow' && decision.transform === 'redact';
  const payload = payloadOf(input, replaces);
  if ('problem' in payload)
    return unkept(decision === run.caller.halted || barred !== null ? decision : unreadable(payload.problem, input, replaces));
  const { text } = payload;
  if (decision.transform === 'log' && decision.storedTransform === 'log')
    return { decision, input, kept: text, digest: digestText(text), findings: [] };
  const redacted = redactPayload(run, tool, payload);
  const { findings } = redacted;
  // What was redacted must not be found again by trying values against a digest.
  const kept = { kept: redacted.text, digest: digestText(redacted.text), findings };
  if (replaces && findings.length > 0 && !forwards) {
    const kinds = findings.map(({ kind }) => kind).join(', ');
    const words = `policy redacts the input (${kinds}), and this caller cannot take a changed one`;
    return { decision: refuse('redaction_unsupported', words, { attempt: true }), input: null, ...kept };
  }
  return { decision, input: replaces ? redacted.value : input, ...kept };
}

/** An input that has JSON, and is more than that, is no malformed call. */
function unreadable(problem: string, input: unknown, replaces: boolean): Decision {
  if (replaces && !('problem' in payloadOf(input, false)))
    return refuse('redaction_unsupported', `policy redacts the input, and it ${problem}`, { attempt: true });
  return refuse('call_malformed', `the input ${problem}`);
}

/** Brings the run to the snapshot held now; the decision where that already denies. */
export function rebind({ cell, clock }: GovernDeps, run: GovernedRun): Decision | null {
  const index = cell.current;
  if (cell.refused !== null) return refuse('key_revoked', `the control plane refuses this sidecar's key: ${cell.refused}`);
  if (index === null) return refuse('snapshot_missing', 'no policy has been received yet');
  if (run.caller.index !== index) run.caller = bindCaller(index, run.claim);
  const expiresAt = run.caller.key?.expiresAt ?? null;
  return expiresAt !== null && clock.wall() >= expiresAt ? refuse('key_revoked', 'the key has expired') : null;
}

/** Where an entry cannot be written and the workspace did not choose otherwise. */
export const unrecordable = refuse('audit_unavailable', 'the entry could not be written to the spool');

export const mayGoUnrecorded = (run: GovernedRun): boolean => run.caller.index.settings.auditUnavailable === 'allow';

function verdictOf(tool: string, requestId: string, { decision, input, digest, findings }: Weighed, decidedAt: number): Verdict {
  if (decision.decision === 'deny') return denialOf(tool, requestId, decision, findings);
  const permit: Permit = { allowed: true, requestId, tool, decision, findings, input, decidedAt, inputDigest: digest };
  return permit;
}
