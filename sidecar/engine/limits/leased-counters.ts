// Makes limits exact over all processes: the enforced fold uses leases, and the shadow fold counts in this process
// alone. It has the same interface as `counters.ts`, so deciding and recording do not depend on leases.
import { bounds } from '@tollgate/proto/contract';
import type { Full, LeasedCounter, Limit, LimitSet, Undo } from '../decide/decision.ts';
import { type Allowance, type Counters, createCounters } from './counters.ts';
import type { Lease } from './lease.ts';
import type { Leases } from './leases.ts';
import { SharedRunCalls } from './shared-calls.ts';

export function createLeasedCounters(leases: Leases, windowSeconds: number): Counters {
  const shadow = createCounters(windowSeconds);
  // Most runs of a process have the same subject, and an allowance has no state of its own.
  let latest = new LeasedAllowance(leases, '');
  const enforcedOf = (originSub: string): LeasedAllowance =>
    latest.originSub === originSub ? latest : (latest = new LeasedAllowance(leases, originSub));
  return {
    allowanceOf: (originSub, fold) => (fold === 'shadow' ? shadow.allowanceOf(originSub, fold) : enforcedOf(originSub)),
    sharedCalls: (run) => new SharedRunCalls(leases, run),
    wait: (awaits, now, until, retry) => leases.wait(awaits, now, until, retry),
    setWindow: (seconds) => shadow.setWindow(seconds),
    sweep: (now) => {
      leases.sweep(now);
      shadow.sweep(now);
    },
    get size() {
      return leases.size + shadow.size;
    },
  };
}

/**
 * Returns the leases of a set of limits. This is a function, because calling a private method would add a check of the
 * object to each call of `decide`.
 */
function leasesOf(all: Leases, originSub: string, set: LimitSet): readonly LeasedCounter[] {
  const { found } = set;
  if (found !== null && found.generation === all.generation) return found.leases;
  const leases = set.limits.map((limit) => all.ofLimit(originSub, limit));
  set.found = { generation: all.generation, windows: [], leases };
  return leases;
}

class LeasedAllowance implements Allowance {
  readonly #leases: Leases;
  readonly originSub: string;

  constructor(leases: Leases, originSub: string) {
    this.#leases = leases;
    this.originSub = originSub;
  }

  firstFull(set: LimitSet, now: number): Full | null {
    const leases = leasesOf(this.#leases, this.originSub, set);
    for (let at = 0; at < leases.length; at++) if (leases[at]?.hasCapacity(now) !== true) return this.#full(set, now);
    return null;
  }

  charge(set: LimitSet, now: number): void {
    const leases = leasesOf(this.#leases, this.originSub, set);
    for (let at = 0; at < leases.length; at++) leases[at]?.take(now);
  }

  undoOf(set: LimitSet, chargedAt: number): Undo {
    const undone = leasesOf(this.#leases, this.originSub, set).map((lease) => lease.undoOf(chargedAt));
    return (now) => {
      for (const undo of undone) undo(now);
    };
  }

  /** Returns the limit that refuses the call. If one limit is full, waiting for the other limits does not help. */
  #full({ limits }: LimitSet, now: number): Full {
    const dry: Lease[] = [];
    let driest: Limit | null = null;
    for (const limit of limits.toReversed()) {
      const lease = this.#leases.ofLimit(this.originSub, limit);
      if (lease.hasCapacity(now)) continue;
      if (limit.max === 0) return { limit, retryAfterMs: null, awaits: null, dry: null };
      this.#leases.touch(lease, now);
      if (lease.isFull(now)) return { limit, retryAfterMs: lease.capacityAfter(now), awaits: null, dry: null };
      dry.push(lease);
      driest ??= limit;
    }
    if (driest === null)
      throw new Error('a call must only be refused when one of its limits has no calls left, but every limit has calls left');
    const { isAway } = this.#leases;
    if (isAway) this.#leases.dryDenials += 1;
    return { limit: driest, retryAfterMs: bounds.leaseMs, awaits: isAway ? null : dry, dry: this.#leases.dryOf(dry, now) };
  }
}
