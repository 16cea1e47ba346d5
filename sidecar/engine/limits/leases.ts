// Keeps all leases of one process, and the calls that wait for them. It has no clock or connection of its own: its
// owner (`link/lease-keeper.ts`) passes the time, the answers, and whether the ledger can be reached.
//
// States of a lease: active (it holds or wants something; `asks` handles it) or idle. An active lease is due, or it is
// quiet until `onStirred` is called or its time is reached. Thus, of thousands of open runs, only those are checked
// that may have something to request. The lease of a rate limit is found by subject and id. `sweep` removes it when it
// is idle, and then replaces `generation`. The lease of a run belongs to the object that counts the run.
import {
  bounds,
  FairMemory,
  type QuotaAnswer,
  type QuotaAsk,
  type QuotaCounter,
  quotaCounterKey,
  type RevisionName,
  type RunOf,
} from '@tollgate/proto/contract';
import type { Dry, LeasedCounter, Limit } from '../decide/decision.ts';
import { Lease, type LeaseTally } from './lease.ts';
import { Schedule } from './schedule.ts';
import { type Retry, Waiting } from './waiting.ts';

/**
 * If the ledger has not answered within this share of the wait time, no requests are sent for the calls that arrive in
 * the meantime.
 */
const lateShare = 0.8;
/**
 * The size of the range of request numbers for one lease of a run. If a forgotten run comes back, it gets a new lease,
 * which must not reuse the numbers of the old one.
 */
const numbersOfRun = 2 ** 24;
/**
 * `runsBytes`: the memory budget for the active leases of runs, for all keys together. `runBytes`: an estimate for one
 * such lease without its names.
 */
const runsBytes = 32 * 1024 ** 2;
const runBytes = 1_500;
/** The precision of the times at which quiet leases are checked again. */
const quietStepMs = 50;

/** A run that a caller names. */
export interface SharedRun {
  /** The result of `runIdOf(of)`. */
  readonly id: string;
  /** The agent that has the cap: the last of `of.agents`. */
  readonly agentId: string;
  readonly of: RunOf;
}

export interface LeaseListener {
  /** Called when a request must be sent at once. */
  onUrgent(): void;
  /** Called when a lease becomes active. */
  onActive(): void;
  /** Called when a call that had waited was decided. `ms`: how long it waited. */
  onWaited(ms: number): void;
}

export class Leases {
  generation = {};
  /** Replaced by a new object whenever policy changes. */
  policy = {};
  /** The number of calls that were denied because a lease had no calls left in this process. */
  dryDenials = 0;
  readonly tally: LeaseTally = { granted: 0, used: 0 };
  readonly #limits = new Map<string, Map<string, Lease>>();
  readonly #active = new Map<string, Lease>();
  readonly #memory: FairMemory<string>;
  /** The active leases that the next call of `asks` checks. */
  readonly #due = new Set<Lease>();
  /** The active leases of runs whose grants may have changed since `takeChangedRuns` was called. */
  readonly #changed = new Set<Lease>();
  readonly #quiet = new Schedule<Lease>(quietStepMs);
  readonly #waiting: Waiting;
  readonly #listener: LeaseListener;
  readonly #waitMs: number;
  /** One function for all leases. */
  readonly #onStirred = (lease: Lease): void => {
    if (!lease.isActive) return;
    this.#due.add(lease);
    if (lease.counter.kind === 'run') this.#changed.add(lease);
  };
  #revision: RevisionName | null = null;
  #isOpen = false;
  /** True: no stream was opened yet. Calls may wait for the first one. */
  #isNew = true;
  #unansweredSince: number | null = null;
  /** True: at the last check, the ledger had not answered for too long. */
  #isLate = false;
  /** True: a stream was lost, and no answer has arrived since. */
  #isReopened = false;
  /** When the first of the leases that calls wait for may be asked for again. */
  #againAt = Number.POSITIVE_INFINITY;
  #runs = 0;

  /** `waitMs`: how long a call waits for calls that other processes hold. `memoryBytes`: the memory budget for runs. */
  constructor(listener: LeaseListener, waitMs: number = bounds.leaseWaitMs, memoryBytes = runsBytes) {
    this.#listener = listener;
    this.#waitMs = waitMs;
    this.#memory = new FairMemory(memoryBytes);
    this.#waiting = new Waiting(waitMs, (ms, inVain) => {
      if (inVain) this.dryDenials += 1;
      listener.onWaited(ms);
    });
  }

  /** The number of leases that hold or want something. */
  get size(): number {
    return this.#active.size;
  }

  get waits(): number {
    return this.#waiting.size;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** When waiting calls must be decided, or asked for again. Null: no call waits. */
  get wakesAt(): number | null {
    const endsAt = this.#waiting.endsAt;
    return endsAt === null ? null : Math.min(endsAt, this.#againAt);
  }

  ofLimit(originSub: string, { id, max }: Pick<Limit, 'id' | 'max'>): Lease {
    const ofSub = this.#limits.get(originSub) ?? new Map<string, Lease>();
    this.#limits.set(originSub, ofSub);
    const lease = ofSub.get(id) ?? this.#newLease({ kind: 'limit', originSub, id });
    ofSub.set(id, lease);
    lease.limitTo(max);
    return lease;
  }

  ofRun({ id, agentId, of }: SharedRun): Lease {
    const counter: QuotaCounter = { kind: 'run', id, agentId, of };
    return this.#active.get(quotaCounterKey(counter)) ?? this.#newLease(counter, (this.#runs += 1) * numbersOfRun);
  }

  #newLease(counter: QuotaCounter, after = 0): Lease {
    return new Lease(counter, { after, tally: this.tally, waitMs: this.#waitMs, onStirred: this.#onStirred });
  }

  /** Returns whether `touch` would return true. */
  canTouch({ isActive, counter }: Lease): boolean {
    const owner = ownerOf(counter);
    return isActive || owner === null || this.#memory.has(owner, bytesOf(counter));
  }

  /**
   * Makes the lease active, because a call wants to use it. Returns false if the memory budget has no space for another
   * lease; the lease is then not managed.
   */
  touch(lease: Lease, now: number): boolean {
    lease.touch(now);
    if (lease.isActive) return true;
    const owner = ownerOf(lease.counter);
    if (owner !== null && !this.#memory.take(owner, bytesOf(lease.counter))) return false;
    lease.isActive = true;
    this.#active.set(quotaCounterKey(lease.counter), lease);
    this.#due.add(lease);
    this.#listener.onActive();
    return true;
  }

  /** The ledger cannot be reached: there is no stream, or the stream did not answer. */
  get isAway(): boolean {
    return (!this.#isOpen && !this.#isNew) || this.#isLate;
  }

  /**
   * Returns whether the control plane appears to be down: there is no stream, or the stream was opened again and has
   * not answered in time. A slow control plane does not count as down, because other processes may be using it.
   */
  get isGone(): boolean {
    return (!this.#isOpen && !this.#isNew) || (this.#isLate && this.#isReopened);
  }

  /** Returns why these leases have no calls here. */
  dryOf(leases: readonly Lease[], now: number): Dry {
    if (this.isGone) return 'away';
    return !this.isAway && leases.some((lease) => lease.isHeldElsewhere(now)) ? 'held' : 'slow';
  }

  isSilent(now: number, ms: number): boolean {
    return this.#isOpen && this.#unansweredSince !== null && now - this.#unansweredSince > ms;
  }

  wait(awaits: readonly LeasedCounter[], now: number, until: number, retry: Retry): void {
    if (this.#waiting.add(awaits, now, until, retry)) this.#listener.onUrgent();
  }

  /**
   * Returns the requests to send now, at most `max`. The rest comes first in the next call. The caller must send all
   * returned requests.
   */
  asks(now: number, max = Number.POSITIVE_INFINITY): readonly QuotaAsk[] {
    this.#waiting.begin(now);
    const revision = this.#revision;
    // Sends nothing while the ledger is late: more requests would only cause more grants that do not arrive here.
    // Earlier requests may still be answered.
    if (revision === null || !this.#isOpen || this.#isLate) return [];
    const asks: QuotaAsk[] = [];
    this.#againAt = Number.POSITIVE_INFINITY;
    for (const lease of this.#quiet.take(now)) {
      lease.quietUntil = null;
      if (lease.isActive) this.#due.add(lease);
    }
    for (const lease of this.#due) {
      if (asks.length >= max) break;
      const waiting = this.#waiting.countFor(lease);
      const ask = lease.ask(now, waiting, revision);
      if (ask !== null) {
        asks.push(ask);
        this.#due.delete(lease);
        this.#due.add(lease);
      } else if (waiting === 0 && lease.isIdle(now)) this.#forget(lease);
      else if (waiting === 0) this.#leaveQuiet(lease, now);
      else this.#againAt = Math.min(this.#againAt, lease.asksAgainAt(now));
    }
    if (asks.length > 0) this.#unansweredSince ??= now;
    return asks;
  }

  #leaveQuiet(lease: Lease, now: number): void {
    const until = lease.hasNothingToAskUntil(now);
    if (until === null) return;
    this.#due.delete(lease);
    // A lease whose state has changed in the meantime may already have an earlier time. It is checked at that time, and
    // then becomes quiet until the later time.
    if (lease.quietUntil !== null && lease.quietUntil <= until) return;
    this.#setQuiet(lease, until);
  }

  #setQuiet(lease: Lease, until: number | null): void {
    if (lease.quietUntil !== null) this.#quiet.remove(lease, lease.quietUntil);
    lease.quietUntil = until;
    if (until !== null) this.#quiet.put(lease, until);
  }

  #forget(lease: Lease): void {
    const owner = ownerOf(lease.counter);
    if (owner !== null && lease.isActive) this.#memory.give(owner, bytesOf(lease.counter));
    lease.isActive = false;
    lease.forgotten();
    this.#due.delete(lease);
    this.#changed.delete(lease);
    this.#setQuiet(lease, null);
    const key = quotaCounterKey(lease.counter);
    if (this.#active.get(key) === lease) this.#active.delete(key);
  }

  /** The history of the database that has made the grants. */
  get epoch(): string {
    return this.#revision?.epoch ?? '';
  }

  /** Returns the runs whose grants may have changed since the last call. */
  takeChangedRuns(): readonly Lease[] {
    if (this.#changed.size === 0) return [];
    const changed = [...this.#changed];
    this.#changed.clear();
    return changed;
  }

  /** Returns the runs that may hold grants. */
  heldRuns(): readonly Lease[] {
    return [...this.#active.values()].filter(({ counter }) => counter.kind === 'run');
  }

  answered(answers: readonly QuotaAnswer[], now: number): void {
    this.#unansweredSince = null;
    this.#isLate = false;
    this.#isReopened = false;
    for (const { counter, number, result } of answers) {
      const lease = this.#active.get(quotaCounterKey(counter));
      if (lease === undefined) continue;
      lease.answered(number, result, now);
      this.#waiting.retry(lease, now, () => lease.hasCapacity(now) || lease.isFull(now));
      if (this.#waiting.countFor(lease) > 0) this.#listener.onUrgent();
    }
  }

  recalled(counters: readonly QuotaCounter[], now: number): void {
    for (const counter of counters) this.#active.get(quotaCounterKey(counter))?.recalled(now);
    this.#listener.onUrgent();
  }

  /**
   * Decides the calls that have waited long enough. All answers that have arrived must be passed on before this call.
   */
  endWaits(now: number): void {
    this.#isLate = this.isSilent(now, this.#waitMs * lateShare);
    this.#waiting.end(now);
  }

  opened(): void {
    this.#isOpen = true;
    this.#isNew = false;
    this.#isLate = false;
    this.#unansweredSince = null;
    this.#listener.onUrgent();
  }

  /** Notes that the stream is lost. Waiting calls are decided with the grants that are held. */
  lost(now: number): void {
    this.#isOpen = false;
    this.#isNew = false;
    this.#isReopened = true;
    for (const lease of this.#active.values()) lease.lost();
    this.#waiting.retryAll(now);
  }

  policyChanged(revision: RevisionName, now: number): void {
    const isOther = this.#revision !== null && this.#revision.epoch !== revision.epoch;
    this.#revision = revision;
    this.policy = {};
    if (isOther) for (const lease of this.#active.values()) lease.void();
    for (const ofSub of this.#limits.values()) for (const lease of ofSub.values()) lease.policyChanged();
    for (const lease of this.#active.values()) lease.policyChanged();
    this.#waiting.retryAll(now);
    this.#listener.onUrgent();
  }

  /** Gives back the calls of all leases before the process ends. Returns the requests that must be sent for this. */
  release(now: number): readonly QuotaAsk[] {
    for (const lease of this.#active.values()) lease.release();
    return this.asks(now);
  }

  sweep(now: number): void {
    for (const [sub, ofSub] of this.#limits) {
      for (const [id, lease] of ofSub) {
        if (lease.isActive || lease.isFull(now)) continue;
        ofSub.delete(id);
        this.generation = {};
      }
      if (ofSub.size === 0) this.#limits.delete(sub);
    }
  }
}

/**
 * Returns the id of the key whose memory budget this counter uses. Null for a limit: the number of limits needs no
 * budget, because it is bounded by subjects and rules.
 */
const ownerOf = (counter: QuotaCounter): string | null => (counter.kind === 'run' ? (counter.of?.keyId ?? '') : null);

function bytesOf(counter: QuotaCounter): number {
  if (counter.kind === 'limit' || counter.of === null) return runBytes;
  const { keyId, sub, sessionId, agents } = counter.of;
  return runBytes + 2 * agents.reduce((sum, agent) => sum + agent.length + 16, keyId.length + sub.length + sessionId.length);
}
