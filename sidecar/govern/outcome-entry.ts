// The entries about what a call came to: its outcome, and that somebody did not get what an earlier entry says.
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

/** The entry about what a call came to. */
export function outcomeEntry(deps: GovernDeps, call: DecidedCall, facts: OutcomeFacts): string {
  const { isError, durationMs, outputDigest, action, findings, blocked } = facts;
  return entryText(call.decidedBy.callerText, {
    hookEvent: 'PostToolUse',
    tool: call.tool,
    decision: call.decision,
    requestId: call.requestId,
    trace: call.trace,
    at: deps.clock.wall(),
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

/** The permit, or the output, that the entry before tells of was not handed out in the end. */
export function withdrawnEntry(
  deps: GovernDeps,
  call: DecidedCall,
  { why, isError, durationMs }: { readonly why: Decision; readonly isError: boolean; readonly durationMs: number },
): string {
  return outcomeEntry(deps, call, { isError, durationMs, outputDigest: null, action: 'block', findings: [], blocked: why });
}

const blockCode = ({ code }: Decision): DenyCode => (code === 'allowed' ? 'internal_error' : code);
