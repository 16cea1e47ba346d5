// Checks which items an export may omit because they are out of retention: items that are older than the retention in
// its last checkpoint permits. If the retention was raised later, items are also accepted that had already been removed
// according to a signed checkpoint from before that. Part of the verifier. Pure.
//
// Only the verifier's own checkpoints can prove the earlier retention. Everything that the control plane knows is in
// the database, and a person who can write there can restore any earlier content.
import type { Checkpoint, Kept } from './checkpoint.ts';

/** An earlier retention, before it was raised, under which items are omitted. */
export interface EarlierRetention {
  /** The name of the checkpoint that states it. */
  readonly name: string;
  readonly days: number;
  /** No younger item was out of retention when the checkpoint was made. ISO 8601. */
  readonly until: string;
}

interface Before {
  readonly size: number;
  readonly earlier: EarlierRetention;
}

export interface OutOfRetention {
  /** Item `n`, or everything up to it, is omitted. No part of it is younger than `ts`. */
  leftOut(n: number, ts: string): void;
  readonly isAny: boolean;
  /** `days`: how long entries are kept. */
  judge(last: Checkpoint, days: number): { readonly tooYoung: string } | { readonly earlier: readonly EarlierRetention[] };
}

const dayMs = 86_400_000;
/** An export can take long, and retention continues in the meantime. */
const slackMs = 3_600_000;

const untilOf = (madeAt: string, days: number): string => new Date(Date.parse(madeAt) - days * dayMs + slackMs).toISOString();

/** `kept`: all checkpoints that were given to the verifier. */
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

/**
 * If another earlier checkpoint states more days, the retention had been lowered. The longer retention applies, because
 * it had been promised.
 */
function beforeOf({ name, note: { checkpoint } }: Kept, kept: readonly Kept[]): Before {
  const { size, madeAt, retentionDays } = checkpoint;
  const others = kept.map(({ note }) => note.checkpoint).filter((other) => other.madeAt <= madeAt);
  const days = Math.max(retentionDays, ...others.map((other) => other.retentionDays));
  return { size, earlier: { name, days, until: untilOf(madeAt, days) } };
}
