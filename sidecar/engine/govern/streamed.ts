// Handles an output that arrives in pieces and is never held as a whole. The code that forwards the pieces checks them
// with the redactor from `lookOf`, and reports the result at the end of the output. The entry has the same form as for
// any other outcome.
import type { Finding } from '@tollgate/proto/contract';
import type { Decision } from '../decide/decision.ts';
import type { Redactor } from '../redact/index.ts';
import type { JudgedResult } from './govern.ts';
import type { GovernDeps } from './governing.ts';
import { outcomeEntry, withdrawnEntry } from './outcome-entry.ts';
import { redactorOf } from './payload.ts';
import type { GovernedRun } from './run.ts';
import type { DecidedCall } from './verdict.ts';

export interface OutputLook {
  /** Finds what must not be stored. Null: policy permits storing the output unchanged. */
  readonly redactor: Redactor | null;
  /** True: the redacted output is forwarded in place of the original. */
  readonly replaces: boolean;
}

export const lookOf = (run: GovernedRun, { tool, decision }: DecidedCall): OutputLook => ({
  redactor: decision.storedTransform === 'redact' ? redactorOf(run, tool) : null,
  replaces: decision.transform === 'redact',
});

export interface StreamedOutcome {
  readonly isError: boolean;
  readonly durationMs: number;
  /** SHA-256 in hex of the bytes after redaction. Null: there are no bytes to report. */
  readonly digest: string | null;
  readonly findings: readonly Finding[];
  /** Why the rest of the output was withheld. Null: all of it was forwarded. */
  readonly blocked: Decision | null;
}

/**
 * Builds the entry about a streamed output. `result`: whether the part of the output that is still held may be
 * forwarded.
 */
export function deliverStreamed(deps: GovernDeps, call: DecidedCall, outcome: StreamedOutcome): JudgedResult<boolean> {
  const { isError, durationMs, digest, findings, blocked } = outcome;
  const changed = call.decision.transform === 'redact' && findings.length > 0;
  const entry = outcomeEntry(deps, call, {
    isError,
    durationMs,
    outputDigest: digest,
    action: blocked !== null ? 'block' : changed ? 'redact' : 'pass',
    findings,
    blocked,
  });
  if (blocked !== null) return { result: false, entry, unrecorded: () => false };
  return {
    result: true,
    entry,
    unrecorded: () => call.decidedBy.mayGoUnrecorded,
    withdrawn: (why) => withdrawnEntry(deps, call, { isError, durationMs, why }),
  };
}
