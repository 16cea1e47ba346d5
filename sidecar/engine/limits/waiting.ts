// Keeps the calls that wait because a lease has no calls left in this process, in order of arrival. Each call is tried
// again when the leases that it waits for may have changed, and a last time when its wait ends. The wait of a call
// starts when the request for it is sent to the ledger, so an earlier delay in this process does not shorten the wait.
// A call with its own deadline waits at most until that deadline.
import type { LeasedCounter } from '../decide/decision.ts';

/**
 * Tries the call again. Returns null if the call is decided and no longer waits. Otherwise returns the leases that the
 * call still waits for. The last try always decides the call. If the call waited without success, the last try returns
 * the leases that the call waited for.
 */
export type Retry = (isLast: boolean, now: number) => readonly LeasedCounter[] | null;

interface Waiter {
  readonly cameAt: number;
  /** When the wait began. Null: no request was sent for this call yet. */
  since: number | null;
  /** The call is decided by this time. Infinite: the caller waits as long as needed. */
  readonly until: number;
  readonly retry: Retry;
  awaits: readonly LeasedCounter[];
}

const waitingMax = 10_000;

export class Waiting {
  readonly #waiters = new Set<Waiter>();
  /** The waiting calls with their own deadline. */
  readonly #hurried = new Set<Waiter>();
  readonly #fresh = new Set<Waiter>();
  readonly #queues = new Map<LeasedCounter, Set<Waiter>>();
  readonly #onOver: (waitedMs: number, inVain: boolean) => void;

  readonly #waitMs: number;

  constructor(waitMs: number, onOver: (waitedMs: number, inVain: boolean) => void) {
    this.#waitMs = waitMs;
    this.#onOver = onOver;
  }

  /** Adds a call that waits. Returns false if too many calls wait already; the call was then decided at once. */
  add(awaits: readonly LeasedCounter[], now: number, until: number, retry: Retry): boolean {
    if (this.#waiters.size >= waitingMax) {
      this.#onOver(0, retry(true, now) !== null);
      return false;
    }
    const waiter: Waiter = { cameAt: now, since: null, until, retry, awaits };
    this.#waiters.add(waiter);
    if (until !== Number.POSITIVE_INFINITY) this.#hurried.add(waiter);
    this.#fresh.add(waiter);
    this.#join(waiter);
    return true;
  }

  /** Returns how many calls wait for the lease. */
  countFor(lease: LeasedCounter): number {
    return this.#queues.get(lease)?.size ?? 0;
  }

  get size(): number {
    return this.#waiters.size;
  }

  /** When the first waiting call must be decided. Null: no call waits for an answer. */
  get endsAt(): number | null {
    let endsAt = Number.POSITIVE_INFINITY;
    for (const { since } of this.#waiters) {
      if (since !== null) endsAt = since + this.#waitMs;
      break;
    }
    for (const { until } of this.#hurried) endsAt = Math.min(endsAt, until);
    return endsAt === Number.POSITIVE_INFINITY ? null : endsAt;
  }

  /** Starts the waits of the calls that arrived, because the requests for them are sent now. */
  begin(now: number): void {
    for (const waiter of this.#fresh) waiter.since = now;
    this.#fresh.clear();
  }

  /** Retries the calls that wait for the lease, as long as `isWorthwhile` returns true. */
  retry(lease: LeasedCounter, now: number, isWorthwhile: () => boolean): void {
    for (const waiter of this.#queues.get(lease) ?? []) {
      if (!isWorthwhile()) return;
      this.#try(waiter, false, now);
    }
  }

  retryAll(now: number): void {
    for (const waiter of this.#waiters) this.#try(waiter, false, now);
  }

  /** Decides the calls that have waited long enough. */
  end(now: number): void {
    for (const waiter of this.#hurried) if (now >= waiter.until) this.#try(waiter, true, now);
    for (const waiter of this.#waiters) {
      if (waiter.since === null || now - waiter.since < this.#waitMs) return;
      this.#try(waiter, true, now);
    }
  }

  #try(waiter: Waiter, isLast: boolean, now: number): void {
    const awaits = waiter.retry(isLast, now);
    if (awaits !== null && !isLast) {
      // The call keeps its position in the queues in which it continues to wait.
      this.#leave(waiter, (lease) => !awaits.includes(lease));
      waiter.awaits = awaits;
      this.#join(waiter);
      return;
    }
    this.#leave(waiter, () => true);
    this.#waiters.delete(waiter);
    this.#fresh.delete(waiter);
    this.#hurried.delete(waiter);
    this.#onOver(now - waiter.cameAt, awaits !== null);
  }

  #join(waiter: Waiter): void {
    for (const lease of waiter.awaits) {
      const queue = this.#queues.get(lease) ?? new Set();
      this.#queues.set(lease, queue);
      queue.add(waiter);
    }
  }

  #leave(waiter: Waiter, which: (lease: LeasedCounter) => boolean): void {
    for (const lease of waiter.awaits.filter(which)) {
      const queue = this.#queues.get(lease);
      queue?.delete(waiter);
      if (queue?.size === 0) this.#queues.delete(lease);
    }
  }
}
