// Builds two kinds of entries about the result of a call: its outcome, and a withdrawal. A withdrawal says that the
// caller did not receive what an earlier entry says.
import type { DenyCode, Finding } from '@tollgate/proto/contract';
import type { Decision } from '../decide/decision.ts';
import { entryText } from './audit-entry.ts';
import type { GovernDeps } from './governing.ts';
import type { DecidedCall } from './verdict.ts';

export interface OutcomeFacts {
  readonly isError: boolean;
  readonly durationMs: number;
  readonly outputDigest: string | null;
  readonly action: 'pass' | 'redact' | 'block';
  readonly findings: readonly Finding[];
  readonly blocked: Decision | null;
}

/** Builds the entry about the outcome of a call. */
export function outcomeEntry(deps: GovernDeps, call: DecidedCall, facts: OutcomeFacts): string {
  const { isError, durationMs, outputDigest, action, findings, blocked } = facts;
  return entryText(call.decidedBy.callerText, {
    hookEvent: 'PostToolUse',
    tool: call.tool,
    decision: call.decision,
    requestId: call.requestId,
    trace: call.trace,
    at: deps.clock.wallTime(),
    policyAgeMs: deps.clock.now() - deps.cell.freshness.heardAt,
    inputDigest: call.inputDigest,
    input: null,
    findings,
    outcome: {
      isError,
      durationMs: Math.round(durationMs),
      ...(outputDigest === null ? {} : { outputDigest }),
      action,
      ...(blocked === null ? {} : { code: blockCode(blocked) }),
    },
  });
}

/** Builds the entry that withdraws an earlier entry: the permit or the output was not delivered in the end. */
export function withdrawnEntry(
  deps: GovernDeps,
  call: DecidedCall,
  { why, isError, durationMs }: { readonly why: Decision; readonly isError: boolean; readonly durationMs: number },
): string {
  return outcomeEntry(deps, call, { isError, durationMs, outputDigest: null, action: 'block', findings: [], blocked: why });
}

const blockCode = ({ code }: Decision): DenyCode => (code === 'allowed' ? 'internal_error' : code);
