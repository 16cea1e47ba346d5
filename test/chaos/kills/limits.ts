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
  { windowSeconds, limitsHoldOver }: Pick<Evidence, 'windowSeconds' | 'limitsHoldOver'>,
): LimitFindings {
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
    exceeded.push(...exceededWindows(counter, allowed, ruleOf, windowSeconds));
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

function exceededWindows(counter: string, allowed: readonly StoredEntry[], ruleOf: RuleOf, windowSeconds: number): readonly string[] {
  const found: string[] = [];
  let first = 0;
  for (const [at, row] of allowed.entries()) {
    for (let oldest = allowed[first]; oldest !== undefined && startOf(oldest) <= row.ts - windowSeconds * 1000; oldest = allowed[first])
      first += 1;
    // For a limit that changes, sidecars hold different revisions for a moment, and none of these has more than the
    // highest limit.
    const window = allowed.slice(first, at + 1);
    const most = Math.max(...window.map((each) => limitOf(ruleOf, each)));
    if (window.length > most)
      found.push(`${counter}: ${window.length} calls in the ${windowSeconds} s to ${new Date(row.ts).toISOString()}, the limit is ${most}`);
  }
  return found;
}
