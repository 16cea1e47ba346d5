// One call as a row of a list: the few fields of its entries that a list shows. Entries are not kept, because an input
// may have 8 KiB.
import type { Schemas } from '../api/client.ts';
import { type Outcome, outcomeOf } from './outcome.tsx';

type Entry = Schemas['AuditEntry'];

/** What became of a call that was made. */
export interface CallResult {
  readonly action: 'pass' | 'redact' | 'block';
  readonly isError: boolean;
  readonly durationMs: number;
}

export interface CallRow {
  readonly requestId: string;
  readonly ts: string;
  readonly outcome: Outcome;
  readonly code: string;
  readonly reason: string;
  readonly tool: string;
  readonly agent: string;
  /** How many agents are above this one. */
  readonly depth: number;
  readonly tier: string;
  /** The person, or what else the call was made for. */
  readonly who: string;
  readonly sub: string;
  /** A person has approved the call. */
  readonly isApproved: boolean;
  /** What documents in audit mode would have decided otherwise. */
  readonly shadow: string | null;
  readonly result: CallResult | null;
}

const reasonLength = 300;

/** The reason without its code, which begins it. */
export const reasonWords = ({ decisionReason, code }: Pick<Entry, 'decisionReason' | 'code'>): string =>
  code !== undefined && decisionReason.startsWith(`${code}: `) ? decisionReason.slice(code.length + 2) : decisionReason;

export const whoOf = ({ userEmail, originSub, sub }: Pick<Entry, 'userEmail' | 'originSub' | 'sub'>): string =>
  userEmail || originSub || sub;

/** `entry`: of a decision, or of an outcome whose decision is not known. */
export function rowFromEntry(entry: Entry): CallRow {
  return {
    requestId: entry.requestId,
    ts: entry.ts,
    outcome: outcomeOf(entry),
    code: entry.code ?? '',
    reason: reasonWords(entry).slice(0, reasonLength),
    tool: entry.tool,
    agent: entry.agentName,
    depth: entry.depth,
    tier: entry.agentTier,
    who: whoOf(entry),
    sub: entry.sub,
    isApproved: entry.approval !== undefined && entry.decision === 'allow',
    shadow: entry.shadow === undefined ? null : entry.shadow.decision,
    result: resultOf(entry),
  };
}

export function resultOf({ outcome }: Pick<Entry, 'outcome'>): CallResult | null {
  if (outcome === undefined) return null;
  return { action: outcome.action ?? 'pass', isError: outcome.isError, durationMs: outcome.durationMs };
}

/** Such as `850 µs`, `12 ms`, `3.4 s`. */
export function durationWords(ms: number): string {
  if (ms < 1) return `${Math.round(ms * 1_000)} µs`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : `${(ms / 60_000).toFixed(1)} min`;
}
