// What becomes of an output that comes in pieces and is never held as a whole. Whoever passes it on looks at it by the
// redactor given here, and says at its end what came of it; then the entry is as that of every outcome.
import type { Finding } from '@tollgate/proto/contract';
import type { Decision } from '../decide/decision.ts';
import type { Redactor } from '../redact/index.ts';
import type { Judged } from './govern.ts';
import type { GovernDeps } from './governing.ts';
import { outcomeEntry, withdrawnEntry } from './outcome-entry.ts';
import { redactorOf } from './payload.ts';
import type { GovernedRun } from './run.ts';
import type { DecidedCall } from './verdict.ts';

export interface OutputLook {
  /** Finds what must not be kept; null where policy keeps the output as it is. */
  readonly redactor: Redactor | null;
  /** What goes on is what redaction leaves. */
  readonly replaces: boolean;
}

export const lookOf = (run: GovernedRun, { tool, decision }: DecidedCall): OutputLook => ({
  redactor: decision.storedTransform === 'redact' ? redactorOf(run, tool) : null,
  replaces: decision.transform === 'redact',
});

export interface StreamedOutcome {
  readonly isError: boolean;
  readonly durationMs: number;
  /** SHA-256 in hex of the bytes as redaction leaves them; null where there are none to tell of. */
  readonly digest: string | null;
  readonly findings: readonly Finding[];
  /** Why what was left of it was withheld; null where all of it went on. */
  readonly blocked: Decision | null;
}

/** The entry; whether what is still held of the output may go on. */
export function deliverStreamed(deps: GovernDeps, call: DecidedCall, outcome: StreamedOutcome): Judged<boolean> {
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
  return {
    result: blocked === null,
    entry,
    unrecorded: () => blocked === null && call.decidedBy.mayGoUnrecorded,
    ...(blocked === null && { withdrawn: (why) => withdrawnEntry(deps, call, { isError, durationMs, why }) }),
  };
}
