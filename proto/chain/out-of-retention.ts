// Checks which items an export may omit because they are out of retention. The last checkpoint of the export states the
// retention. Items that are older than this retention may be missing. If the retention was raised, a signed checkpoint
// from before the raise states the earlier, shorter retention. Items that were already out of the earlier retention
// when that checkpoint was made may be missing too. Part of the verifier. Pure.
//
// Only the verifier's own checkpoints can prove the earlier retention. Everything that the control plane knows is in
// the database, and a person who can write there can restore any earlier content.
import type { Checkpoint, Kept } from './checkpoint.ts';

/** An earlier, shorter retention under which the export omits items. The retention was raised later. */
export interface EarlierRetention {
  /** The name of the checkpoint that states it. */
  readonly name: string;
  readonly days: number;
  /** Items after this time were still in retention when the checkpoint was made. ISO 8601. */
  readonly until: string;
}

interface Before {
  readonly size: number;
  readonly earlier: EarlierRetention;
}

export interface OutOfRetention {
  /** Records that the export omits item `n`, or all items up to it. None of these items is younger than `ts`. */
  leftOut(n: number, ts: string): void;
  readonly isAny: boolean;
  /**
   * Returns the time of an omitted item that is too young. If there is none, returns the earlier retentions that permit
   * the omitted items. `days`: how long entries are kept.
   */
  judge(last: Checkpoint, days: number): { readonly tooYoung: string } | { readonly earlier: readonly EarlierRetention[] };
}

const dayMs = 86_400_000;
/** Tolerance for a long export: more items go out of retention while it runs. */
const slackMs = 3_600_000;

const untilOf = (madeAt: string, days: number): string => new Date(Date.parse(madeAt) - days * dayMs + slackMs).toISOString();

/** `kept`: all checkpoints that were given to the verifier, including `beforeRaise`. */
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
 * Returns the retention before it was raised. If another checkpoint from the same time or earlier states more days, the
 * retention had been lowered in between. The longer retention applies, because the log had promised it.
 */
function beforeOf({ name, note: { checkpoint } }: Kept, kept: readonly Kept[]): Before {
  const { size, madeAt, retentionDays } = checkpoint;
  const others = kept.map(({ note }) => note.checkpoint).filter((other) => other.madeAt <= madeAt);
  const days = Math.max(retentionDays, ...others.map((other) => other.retentionDays));
  return { size, earlier: { name, days, until: untilOf(madeAt, days) } };
}
