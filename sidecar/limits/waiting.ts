// Calls that wait because a lease has run dry, in the order they came. Each is tried again when what it waits for may have
// changed, and a last time when its wait is over. A wait begins with the ask that is sent for it: what a busy process does
// before that is not the ledger's fault. Who must answer by a time of its own waits until then at most, whatever it waits for.
import type { LeasedCounter } from '../decide/decision.ts';

/** Tries the call again. Answers what it waits for still, or at the last try in vain; null: it is decided without that. */
export type Retry = (isLast: boolean, now: number) => readonly LeasedCounter[] | null;

interface Waiter {
  readonly cameAt: number;
  /** Null: nobody was asked for it yet. */
  since: number | null;
  /** It is decided by then; infinite: whoever asked waits as long as it takes. */
  readonly until: number;
  readonly retry: Retry;
  awaits: readonly LeasedCounter[];
}

const waitingMax = 10_000;

export class Waiting {
  readonly #waiters = new Set<Waiter>();
  /** Those with a time of their own. */
  readonly #hurried = new Set<Waiter>();
  readonly #fresh = new Set<Waiter>();
  readonly #queues = new Map<LeasedCounter, Set<Waiter>>();
  readonly #onOver: (waitedMs: number, inVain: boolean) => void;

  readonly #waitMs: number;

  constructor(waitMs: number, onOver: (waitedMs: number, inVain: boolean) => void) {
    this.#waitMs = waitMs;
    this.#onOver = onOver;
  }

  /** False: so many wait already that it was decided at once. */
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

  /** How many wait for it. */
  countFor(lease: LeasedCounter): number {
    return this.#queues.get(lease)?.size ?? 0;
  }

  get size(): number {
    return this.#waiters.size;
  }

  /** When the first of them has waited long enough; null: nobody waits for an answer. */
  get endsAt(): number | null {
    let endsAt = Number.POSITIVE_INFINITY;
    for (const { since } of this.#waiters) {
      if (since !== null) endsAt = since + this.#waitMs;
      break;
    }
    for (const { until } of this.#hurried) endsAt = Math.min(endsAt, until);
    return endsAt === Number.POSITIVE_INFINITY ? null : endsAt;
  }

  /** What is to be asked for those that came is asked now. */
  begin(now: number): void {
    for (const waiter of this.#fresh) waiter.since = now;
    this.#fresh.clear();
  }

  /** Those that wait for it, for as long as `goOn` says that it is worth trying. */
  retry(lease: LeasedCounter, now: number, goOn: () => boolean): void {
    for (const waiter of this.#queues.get(lease) ?? []) {
      if (!goOn()) return;
      this.#try(waiter, false, now);
    }
  }

  retryAll(now: number): void {
    for (const waiter of this.#waiters) this.#try(waiter, false, now);
  }

  /** Decides those that have waited long enough. */
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
      // Where it waits on, it keeps its place.
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
