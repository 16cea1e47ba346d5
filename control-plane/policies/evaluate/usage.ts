// Counts what callers have used of their limits, from replayed calls, in the same way as sidecars count. The
// evaluator's own functions bind callers, fold limits and count windows. Pure.
import { isTier, type Tier } from '@tollgate/proto/contract';
import {
  type Caller,
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
  const limitsByCall = createKept<readonly CountedLimit[]>(max.known);
  const counted = new Map<string, CountedLimit>();
  let characters = 0;
  let cut = false;

  const countedFor = (caller: Caller, sub: string, tool: string): readonly CountedLimit[] =>
    enforcedFold(caller, tool).limits.flatMap((limit) => {
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
  const limitsOf = (replayed: ReplayedCaller, tool: string): readonly CountedLimit[] =>
    limitsByCall.getOr(JSON.stringify([replayed, tool]), () => countedFor(bind(replayed), replayed.sub, tool));

  return {
    take: ({ decision, caller, tool, agent, at }) => {
      if (decision === 'deny' || caller === null || (onlySub !== null && caller.sub !== onlySub)) return;
      for (const one of limitsOf(caller, tool)) {
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
    cut: () => cut,
  };
}

function usedLimit(sub: string, { id, path, max }: Limit, used: number): UsedLimit {
  const document = id.slice(0, id.length - path.length - 1);
  // A rule's path ends with its tier.
  const tier = path.slice(path.lastIndexOf('.') + 1);
  if (!isTier(tier)) throw new Error(`the path of a limit must end with a tier, but is ${path}`);
  return { document, path, rateLimit: max, sub, tier, used, left: Math.max(0, max - used) };
}
