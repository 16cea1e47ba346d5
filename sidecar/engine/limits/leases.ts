// Keeps all leases of one process, and the calls that wait for them. Pure: its owner (`link/lease-keeper.ts`) passes
// the time, the answers, and whether the ledger can be reached.
//
// States of a lease: active (it holds or wants something; `asks` handles it) or idle. An active lease is due, or quiet
// until it is stirred or its time is reached. Therefore, of thousands of open runs only those that may have something
// to ask are checked. The lease of a rate limit is found by subject and id, and `sweep` removes it when it is idle;
// `generation` is replaced then. The lease of a run belongs to the object that counts the run.
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
import type { LeasedCounter, Limit } from '../decide/decision.ts';
import { Lease, type LeaseTally } from './lease.ts';
import { Schedule } from './schedule.ts';
import { type Retry, Waiting } from './waiting.ts';

/**
 * If the ledger has not answered within this share of the wait time, it is not asked for the calls that arrive in the
 * meantime.
 */
const lateShare = 0.8;
/**
 * If a forgotten run comes back, it gets a new lease. The new lease must not reuse the ask numbers of the old one.
 */
const numbersOfRun = 2 ** 24;
/**
 * The memory budget for leases of runs that hold or want something, for all keys together, and an estimate for one
 * lease without its names.
 */
const runsBytes = 32 * 1024 ** 2;
const runBytes = 1_500;
/** The precision with which quiet leases are checked again. */
const quietStepMs = 50;

/** A run that a caller names. */
export interface SharedRun {
  /** `runIdOf(of)`. */
  readonly id: string;
  /** The agent that has the cap: the last of `of.agents`. */
  readonly agentId: string;
  readonly of: RunOf;
}

export interface LeaseListener {
  /** Something must be asked at once. */
  onUrgent(): void;
  /** There is now an active lease. */
  onActive(): void;
  /** A call that had waited was decided. */
  onWaited(ms: number): void;
}

export class Leases {
  generation = {};
  /** Replaced whenever policy changes. */
  policy = {};
  /** Calls denied because a lease had no calls left here. */
  dryDenials = 0;
  readonly tally: LeaseTally = { granted: 0, used: 0 };
  readonly #limits = new Map<string, Map<string, Lease>>();
  readonly #active = new Map<string, Lease>();
  readonly #memory: FairMemory<string>;
  /** The active leases to check in the next `asks`. */
  readonly #due = new Set<Lease>();
  readonly #quiet = new Schedule<Lease>(quietStepMs);
  readonly #waiting: Waiting;
  readonly #listener: LeaseListener;
  readonly #waitMs: number;
  #revision: RevisionName | null = null;
  #isOpen = false;
  /** No stream was opened yet. Calls may wait for the first one. */
  #isNew = true;
  #unansweredSince: number | null = null;
  /** The last check found that no answer had arrived for too long. */
  #isLate = false;
  /** A stream was lost, and no answer has arrived since. */
  #isReopened = false;
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

  /** How many leases hold or want something. */
  get size(): number {
    return this.#active.size;
  }

  get waits(): number {
    return this.#waiting.size;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** When waiting calls must be decided. Null: no call waits. */
  get endsAt(): number | null {
    return this.#waiting.endsAt;
  }

  ofLimit(originSub: string, { id, max }: Pick<Limit, 'id' | 'max'>): Lease {
    const ofSub = this.#limits.get(originSub) ?? new Map<string, Lease>();
    this.#limits.set(originSub, ofSub);
    const lease = ofSub.get(id) ?? this.#newLease({ kind: 'limit', originSub, id });
    ofSub.set(id, lease);
    lease.limitTo(max);
    return lease;
  }

  ofRun(run: SharedRun): Lease {
    const counter: QuotaCounter = { kind: 'run', ...run };
    return this.#active.get(quotaCounterKey(counter)) ?? this.#newLease(counter, (this.#runs += 1) * numbersOfRun);
  }

  #newLease(counter: QuotaCounter, after = 0): Lease {
    const onStirred = (lease: Lease): void => {
      if (lease.isActive) this.#due.add(lease);
    };
    return new Lease(counter, { after, tally: this.tally, waitMs: this.#waitMs, onStirred });
  }

  /** Returns whether `touch` would return true. */
  canTouch({ isActive, counter }: Lease): boolean {
    const owner = ownerOf(counter);
    return isActive || owner === null || this.#memory.has(owner, bytesOf(counter));
  }

  /**
   * A call wants to use the lease. Returns false if the memory budget has no space for one more; the lease is then not
   * managed.
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
   * not answered yet. A slow control plane still counts as present, and other processes may be asking it.
   */
  get isGone(): boolean {
    return (!this.#isOpen && !this.#isNew) || (this.#isLate && this.#isReopened);
  }

  isSilent(now: number, ms: number): boolean {
    return this.#isOpen && this.#unansweredSince !== null && now - this.#unansweredSince > ms;
  }

  wait(awaits: readonly LeasedCounter[], now: number, until: number, retry: Retry): void {
    if (this.#waiting.add(awaits, now, until, retry)) this.#listener.onUrgent();
  }

  /**
   * Returns the asks to send now, at most `max`. The others come first the next time. The caller must send what it
   * receives.
   */
  asks(now: number, max = Number.POSITIVE_INFINITY): readonly QuotaAsk[] {
    this.#waiting.begin(now);
    const revision = this.#revision;
    // What was asked may still be answered, or is lost with its stream. More asks would only cause more grants that do
    // not arrive here.
    if (revision === null || !this.#isOpen || this.#isLate) return [];
    const asks: QuotaAsk[] = [];
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
    }
    if (asks.length > 0) this.#unansweredSince ??= now;
    return asks;
  }

  #leaveQuiet(lease: Lease, now: number): void {
    const until = lease.hasNothingToAskUntil(now);
    if (until === null) return;
    this.#due.delete(lease);
    // A lease that was stirred in the meantime already has a time. It is checked then, and becomes quiet again until
    // later.
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
    this.#setQuiet(lease, null);
    const key = quotaCounterKey(lease.counter);
    if (this.#active.get(key) === lease) this.#active.delete(key);
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

  /** Decides the calls that have waited long enough. Everything that has arrived must have been passed on before. */
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

  /** Waiting calls are decided by what is held. */
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

  /** Gives back what is held, for a process that ends. */
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
 * Returns the key whose runs add this counter. Null for a limit: the number of limits is bounded by subjects and rules.
 */
const ownerOf = (counter: QuotaCounter): string | null => (counter.kind === 'run' ? (counter.of?.keyId ?? '') : null);

function bytesOf(counter: QuotaCounter): number {
  if (counter.kind === 'limit' || counter.of === null) return runBytes;
  const { keyId, sub, sessionId, agents } = counter.of;
  return runBytes + 2 * agents.reduce((sum, agent) => sum + agent.length + 16, keyId.length + sub.length + sessionId.length);
}
