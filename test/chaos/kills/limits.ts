// What limits let pass, by the entries: never more in any window, and how often less than they could have.
import type { Evidence, StoredEntry } from './evidence.ts';
import { groupBy } from './grouping.ts';
import type { Rules } from './history.ts';

export interface LimitFindings {
  readonly exceeded: readonly string[];
  readonly refused: number;
  /** Refused although the window, in steps of a second, had room. */
  readonly refusedWithRoom: number;
}

const limitOf = (rules: Rules, { tool, entry }: StoredEntry): number =>
  rules.at(entry.revision, tool).rateLimit ?? Number.POSITIVE_INFINITY;

export function limitFindings(
  entries: readonly StoredEntry[],
  rules: Rules,
  { windowSeconds, limitsHoldOver }: Pick<Evidence, 'windowSeconds' | 'limitsHoldOver'>,
): LimitFindings {
  const calls = entries.filter((row) => row.entry.hookEvent === 'PreToolUse' && Number.isFinite(limitOf(rules, row)));
  const exceeded: string[] = [];
  let refused = 0;
  let refusedWithRoom = 0;
  for (const [counter, all] of groupBy(
    calls,
    ({ sub, tool, spoolId }) => `${sub} ${tool}${limitsHoldOver === 'all' ? '' : ` ${spoolId}`}`,
  )) {
    const sorted = all.toSorted((a, b) => a.ts - b.ts);
    const allowed = sorted.filter(({ decision }) => decision === 'allow');
    exceeded.push(...exceededWindows(counter, allowed, rules, windowSeconds));
    for (const row of sorted.filter(({ entry }) => entry.code === 'rate_limited')) {
      refused += 1;
      // Nobody knows where the steps of who decided it begin.
      const since = row.ts - (windowSeconds + 1) * 1000;
      const charged = allowed.filter(({ ts }) => ts <= row.ts && ts > since).length;
      if (charged < limitOf(rules, row)) refusedWithRoom += 1;
    }
  }
  return { exceeded, refused, refusedWithRoom };
}

/** Its token was taken between then and the time of its entry: on a busy machine a process may stand still in between. */
const startOf = ({ ts, entry }: StoredEntry): number => ts - Math.floor((entry.latencyUs ?? 0) / 1000);

function exceededWindows(counter: string, allowed: readonly StoredEntry[], rules: Rules, windowSeconds: number): readonly string[] {
  const found: string[] = [];
  let first = 0;
  for (const [at, row] of allowed.entries()) {
    for (let oldest = allowed[first]; oldest !== undefined && startOf(oldest) <= row.ts - windowSeconds * 1000; oldest = allowed[first])
      first += 1;
    // A limit that moves: sidecars hold different revisions for a moment, and none of them more than the highest.
    const window = allowed.slice(first, at + 1);
    const most = Math.max(...window.map((each) => limitOf(rules, each)));
    if (window.length > most)
      found.push(`${counter}: ${window.length} calls in the ${windowSeconds} s to ${new Date(row.ts).toISOString()}, the limit is ${most}`);
  }
  return found;
}
