// Counts what callers have used of their limits, from replayed calls, in the same way as sidecars count. The
// evaluator's own functions bind callers, fold limits and count windows. Pure.
import { parseRulePath, type Tier } from '@tollgate/proto/contract';
import {
  type Caller,
  casesKey,
  createCounters,
  createReplayedBinder,
  enforcedFold,
  type Limit,
  type LimitSet,
  type ReplayedCaller,
  type ReplayedPolicy,
} from '@tollgate/sidecar/engine/compile';
import { createKept } from './kept.ts';
import type { ReplayedCall } from './replayed-call.ts';

export interface UsedLimit {
  /** The name of the document as reasons contain it: `role:member`. */
  readonly document: string;
  readonly path: string;
  readonly rateLimit: number;
  readonly sub: string;
  readonly tier: Tier;
  readonly used: number;
  readonly left: number;
}

export interface UsageCount {
  take(call: ReplayedCall): void;
  /** Returns the used limits, sorted by what is left, the least first. */
  usedAt(now: number): readonly UsedLimit[];
  /**
   * The calls of which a condition read what the entry does not show. They count in the limits of each case that they
   * may be.
   */
  uncertain(): number;
  /** Whether there were more limits than could be counted. */
  cut(): boolean;
}

/**
 * Bounds of the counted limits, and of the cache that contains the limits of known calls. `characters`: the total
 * length of their keys.
 */
const max = {
  counted: { entries: 50_000, characters: 32 * 1_048_576 },
  known: { entries: 10_000, characters: 8 * 1_048_576 },
} as const;

interface UsageFilter {
  readonly sub: string | null;
  /** Selects limits in which some call of this agent counted. Calls of other agents still count in those limits. */
  readonly agent: string | null;
}

interface CountedLimit {
  readonly sub: string;
  readonly limit: Limit;
  readonly set: LimitSet;
  wanted: boolean;
}

export function createUsageCount(policy: ReplayedPolicy, { sub: onlySub, agent: onlyAgent }: UsageFilter): UsageCount {
  const bind = createReplayedBinder(policy);
  const counters = createCounters(policy.settings.windowSeconds);
  const callers = createKept<Caller>(max.known);
  const limitsByCall = createKept<readonly CountedLimit[]>(max.known);
  const counted = new Map<string, CountedLimit>();
  let characters = 0;
  let cut = false;
  let uncertain = 0;

  const countedFor = (sub: string, limits: readonly Limit[]): readonly CountedLimit[] =>
    limits.flatMap((limit) => {
      const key = JSON.stringify([sub, limit.id]);
      const known = counted.get(key);
      if (known !== undefined) return [known];
      if (counted.size >= max.counted.entries || characters + key.length > max.counted.characters) {
        cut = true;
        return [];
      }
      const one = { sub, limit, set: { limits: [limit], found: null }, wanted: false };
      counted.set(key, one);
      characters += key.length;
      return [one];
    });
  const limitsOf = (replayed: ReplayedCaller, { tool, facts }: ReplayedCall): readonly CountedLimit[] => {
    if (facts === null)
      return limitsByCall.getOr(JSON.stringify([replayed, tool]), () =>
        countedFor(replayed.sub, enforcedFold(bind(replayed), tool, null).limits),
      );
    const name = JSON.stringify(replayed);
    const caller = callers.getOr(name, () => bind(replayed));
    const key = JSON.stringify([name, tool, casesKey(caller, tool, facts)]);
    if (facts.caseAnswers?.undecided.some(({ reason }) => reason === 'hidden') === true) uncertain += 1;
    return limitsByCall.getOr(key, () => countedFor(replayed.sub, enforcedFold(caller, tool, facts).limits));
  };

  return {
    take: (call) => {
      const { decision, caller, agent, at } = call;
      if (decision === 'deny' || caller === null || (onlySub !== null && caller.sub !== onlySub)) return;
      for (const one of limitsOf(caller, call)) {
        counters.allowanceOf(caller.sub, 'enforced').charge(one.set, at);
        if (onlyAgent === null || agent === onlyAgent) one.wanted = true;
      }
    },
    usedAt: (now) =>
      [...counted.values()]
        .filter(({ wanted }) => wanted)
        .map(({ sub, limit, set }) => usedLimit(sub, limit, counters.allowanceOf(sub, 'enforced').usedOf(set, now)[0] ?? 0))
        .filter(({ used }) => used > 0)
        .toSorted((a, b) => a.left - b.left || b.used - a.used),
    uncertain: () => uncertain,
    cut: () => cut,
  };
}

function usedLimit(sub: string, { id, path, max }: Limit, used: number): UsedLimit {
  const document = id.slice(0, id.length - path.length - 1);
  const tier = parseRulePath(path)?.tier;
  if (tier === undefined) throw new Error(`the path of a limit must name a rule or a case, but is ${path}`);
  return { document, path, rateLimit: max, sub, tier, used, left: Math.max(0, max - used) };
}
