// What an export may lack for being out of retention, and no more: what is older than its last checkpoint says that entries
// are kept, and, where that was raised since, what had gone by a signed checkpoint from before. Part of the verifier. Pure.
//
// Which retention there was before only the verifier's own checkpoints can prove: all that the control plane knows lies in
// the database, and whoever may write there can put back what it was told at any earlier time.
import type { Checkpoint, Kept } from './checkpoint.ts';

/** A retention that was raised, of which something is left out. */
export interface EarlierRetention {
  /** The checkpoint that says so. */
  readonly name: string;
  readonly days: number;
  /** Nothing younger was out of retention when that was made, ISO 8601. */
  readonly until: string;
}

interface Before {
  readonly size: number;
  readonly earlier: EarlierRetention;
}

interface OutOfRetention {
  /** Item `n`, or everything up to it, is left out; nothing of it is younger than `ts`. */
  leftOut(n: number, ts: string): void;
  readonly isAny: boolean;
  /** `days`: how long entries are kept. */
  judge(last: Checkpoint, days: number): { readonly tooYoung: string } | { readonly earlier: readonly EarlierRetention[] };
}

const dayMs = 86_400_000;
/** An export may take its time, and retention goes on meanwhile. */
const slackMs = 3_600_000;

const untilOf = (madeAt: string, days: number): string => new Date(Date.parse(madeAt) - days * dayMs + slackMs).toISOString();

/** `kept`: all checkpoints that the verifier was given. */
export function createOutOfRetention(beforeRaise: readonly Kept[], kept: readonly Kept[]): OutOfRetention {
  const befores = beforeRaise.map((one) => beforeOf(one, kept));
  const youngestOf = new Map<Before | null, string>();
  return {
    leftOut(n, ts) {
      const before = befores.find(({ size, earlier }) => n <= size && ts <= earlier.until) ?? null;
      if (ts > (youngestOf.get(before) ?? '')) youngestOf.set(before, ts);
    },
    get isAny() {
      return youngestOf.size > 0;
    },
    judge({ madeAt }, days) {
      const until = untilOf(madeAt, days);
      const tooYoung = youngestOf.get(null) ?? '';
      if (tooYoung > until) return { tooYoung };
      return { earlier: befores.filter((one) => (youngestOf.get(one) ?? '') > until).map(({ earlier }) => earlier) };
    },
  };
}

/** Where another from before says more days, retention had been lowered: who had been promised those was not to lose them. */
function beforeOf({ name, note: { checkpoint } }: Kept, kept: readonly Kept[]): Before {
  const { size, madeAt, retentionDays } = checkpoint;
  const others = kept.map(({ note }) => note.checkpoint).filter((other) => other.madeAt <= madeAt);
  const days = Math.max(retentionDays, ...others.map((other) => other.retentionDays));
  return { size, earlier: { name, days, until: untilOf(madeAt, days) } };
}
