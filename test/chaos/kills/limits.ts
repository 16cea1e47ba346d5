// Checks limits by the entries: never more than the limit in any window, and how often calls were refused below it.
import type { Evidence, StoredEntry } from './evidence.ts';
import { groupBy } from './grouping.ts';
import type { ToolRule } from './rules.ts';

export interface LimitFindings {
  readonly exceeded: readonly string[];
  readonly refused: number;
  /** Refused although the window, in steps of a second, was below the limit. */
  readonly refusedWithCapacity: number;
}

/** Returns the rule by which a call was decided. */
export type RuleOf = (entry: StoredEntry) => ToolRule;

const limitOf = (ruleOf: RuleOf, row: StoredEntry): number => ruleOf(row).rateLimit ?? Number.POSITIVE_INFINITY;

export function limitFindings(
  entries: readonly StoredEntry[],
  ruleOf: RuleOf,
  { windowSeconds, limitsHoldOver, calls: asked }: Pick<Evidence, 'windowSeconds' | 'limitsHoldOver' | 'calls'>,
): LimitFindings {
  const takenBack = new Set([
    ...entries.filter(({ entry }) => entry.outcome?.code === 'audit_unavailable').map(({ entry }) => entry.requestId),
    // The entry that says so may be lost with the disk.
    ...asked.flatMap(({ heard }) => (heard?.decision === 'deny' ? [heard.requestId] : [])),
  ]);
  const calls = entries.filter((row) => row.entry.hookEvent === 'PreToolUse' && Number.isFinite(limitOf(ruleOf, row)));
  const exceeded: string[] = [];
  let refused = 0;
  let refusedWithCapacity = 0;
  for (const [counter, all] of groupBy(
    calls,
    ({ sub, tool, spoolId }) => `${sub} ${tool}${limitsHoldOver === 'all' ? '' : ` ${spoolId}`}`,
  )) {
    const sorted = all.toSorted((a, b) => a.ts - b.ts);
    const allowed = sorted.filter(({ decision }) => decision === 'allow');
    // A call that was denied after its entry was written has given back what it had counted, and another call may have used it.
    const made = allowed.filter(({ entry }) => !takenBack.has(entry.requestId));
    exceeded.push(...exceededWindows(counter, made, ruleOf, windowSeconds));
    for (const row of sorted.filter(({ entry }) => entry.code === 'rate_limited')) {
      refused += 1;
      // It is not known where the steps of the deciding process begin.
      const since = row.ts - (windowSeconds + 1) * 1000;
      const charged = allowed.filter(({ ts }) => ts <= row.ts && ts > since).length;
      if (charged < limitOf(ruleOf, row)) refusedWithCapacity += 1;
    }
  }
  return { exceeded, refused, refusedWithCapacity };
}

/**
 * Its token was taken between this time and the time of its entry: on a busy machine a process may pause in between.
 */
const startOf = ({ ts, entry }: StoredEntry): number => ts - Math.floor((entry.latencyUs ?? 0) / 1000);

function exceededWindows(counter: string, made: readonly StoredEntry[], ruleOf: RuleOf, windowSeconds: number): readonly string[] {
  let first = 0;
  return made.flatMap((row, at) => {
    const from = row.ts - windowSeconds * 1000;
    while ((made[first]?.ts ?? row.ts) <= from) first += 1;
    // A call may have paused after it took its token, so of two calls the one with the later entry may have taken its
    // token first.
    const window = made.slice(first, at + 1).filter((each) => startOf(each) > from);
    // For a limit that changes, sidecars hold different revisions for a moment, and none of these has more than the
    // highest limit.
    const most = Math.max(...window.map((each) => limitOf(ruleOf, each)));
    if (window.length <= most) return [];
    const calls = window.map((each) => `${each.ts - row.ts} ms after ${each.ts - startOf(each)} ms by ${each.spoolId}`);
    return [
      `${counter}: ${window.length} calls in the ${windowSeconds} s to ${new Date(row.ts).toISOString()}, the limit is ${most}: ${calls.join('; ')}`,
    ];
  });
}
