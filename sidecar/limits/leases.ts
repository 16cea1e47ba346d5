// All leases of one process, and the calls that wait for them. Pure: whoever keeps it (`sync/lease-keeper.ts`) tells it
// the time, what was answered, and whether anybody can be asked.
//
// States of a lease: active (holds or wants something; looked after by `asks`) or idle. An active one is due, or quiet until it is
// stirred or its time comes: of thousands of runs that go on, only those are looked at where there may be something to ask. A rate
// limit's is found by subject and id, and forgotten by `sweep` once idle; `generation` is replaced then. A run's belongs to whoever
// counts the run.
import {
  bounds,
  FairRoom,
  type QuotaAnswer,
  type QuotaAsk,
  type QuotaCounter,
  quotaCounterKey,
  type RevisionName,
} from '@tollgate/proto/contract';
import type { LeasedCounter, Limit } from '../decide/decision.ts';
import { Lease, type LeaseTally } from './lease.ts';
import { Schedule } from './schedule.ts';
import type { SharedRun } from './shared-calls.ts';
import { type Retry, Waiting } from './waiting.ts';

/** Who has not answered within so much of what a call waits is not asked for the calls that come meanwhile. */
const lateShare = 0.8;
/** A run that is forgotten and comes again is another lease, which must not repeat the first one's asks. */
const numbersOfRun = 2 ** 24;
/** Leases of runs that hold or want something, of all keys together; and what one takes, an estimate, without its names. */
const runsBytes = 32 * 1024 ** 2;
const runBytes = 1_500;
/** Quiet leases are looked at again so exactly. */
const quietStepMs = 50;

export interface LeaseListener {
  /** Something is to be asked at once. */
  onUrgent(): void;
  /** There is something to look after now. */
  onActive(): void;
  /** A call was decided that had waited. */
  onWaited(ms: number): void;
}

export class Leases {
  generation = {};
  /** Replaced whenever policy changes. */
  policy = {};
  /** Calls denied because a lease was dry. */
  dryDenials = 0;
  readonly tally: LeaseTally = { granted: 0, used: 0 };
  readonly #limits = new Map<string, Map<string, Lease>>();
  readonly #active = new Map<string, Lease>();
  readonly #room: FairRoom<string>;
  /** Of the active ones, those to look at in the next `asks`. */
  readonly #due = new Set<Lease>();
  readonly #quiet = new Schedule<Lease>(quietStepMs);
  readonly #waiting: Waiting;
  readonly #listener: LeaseListener;
  readonly #waitMs: number;
  #revision: RevisionName | null = null;
  #isOpen = false;
  /** The first stream is being opened: it is worth waiting for. */
  #isNew = true;
  #unansweredSince: number | null = null;
  /** The last look found that nothing was answered for too long. */
  #isLate = false;
  /** A stream was lost, and nothing was answered since. */
  #isReopened = false;
  #runs = 0;

  /** `waitMs`: how long a call waits for what others hold. `roomBytes`: for runs. */
  constructor(listener: LeaseListener, waitMs: number = bounds.leaseWaitMs, roomBytes = runsBytes) {
    this.#listener = listener;
    this.#waitMs = waitMs;
    this.#room = new FairRoom(roomBytes);
    this.#waiting = new Waiting(waitMs, (ms, inVain) => {
      if (inVain) this.dryDenials += 1;
      listener.onWaited(ms);
    });
  }

  /** How many hold or want something. */
  get size(): number {
    return this.#active.size;
  }

  get waits(): number {
    return this.#waiting.size;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** When calls that wait must be decided; null: none waits. */
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

  /** `touch` would answer true. */
  canTouch({ isActive, counter }: Lease): boolean {
    const owner = ownerOf(counter);
    return isActive || owner === null || this.#room.has(owner, bytesOf(counter));
  }

  /** A call wants of it. False: there is no room for one more, and it is not looked after. */
  touch(lease: Lease, now: number): boolean {
    lease.touch(now);
    if (lease.isActive) return true;
    const owner = ownerOf(lease.counter);
    if (owner !== null && !this.#room.take(owner, bytesOf(lease.counter))) return false;
    lease.isActive = true;
    this.#active.set(quotaCounterKey(lease.counter), lease);
    this.#due.add(lease);
    this.#listener.onActive();
    return true;
  }

  /** Nobody can be asked: there is no stream, or one that did not answer. */
  get isAway(): boolean {
    return (!this.#isOpen && !this.#isNew) || this.#isLate;
  }

  /**
   * There is no control plane, as far as anybody can tell: no stream, or one that was opened anew and has not answered yet.
   * A slow one is there all the same, and others may be asking it.
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

  /** What is to be asked now, at most so much of it; the rest comes first the next time. Whoever takes it sends it. */
  asks(now: number, max = Number.POSITIVE_INFINITY): readonly QuotaAsk[] {
    this.#waiting.begin(now);
    const revision = this.#revision;
    // What was asked is answered yet, or lost with its stream: more asks would only have more granted that nobody hears of.
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
    // One that was stirred meanwhile has a time already; it is looked at then, and left until later.
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
    if (owner !== null && lease.isActive) this.#room.give(owner, bytesOf(lease.counter));
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
      this.#waiting.retry(lease, now, () => lease.hasRoom(now) || lease.isFull(now));
      if (this.#waiting.countFor(lease) > 0) this.#listener.onUrgent();
    }
  }

  recalled(counters: readonly QuotaCounter[], now: number): void {
    for (const counter of counters) this.#active.get(quotaCounterKey(counter))?.recalled(now);
    this.#listener.onUrgent();
  }

  /** Decides the calls that have waited long enough. Everything that has arrived must have been told before. */
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

  /** Calls that wait are decided by what is held. */
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

  /** Gives back what is held, for who ends. */
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

/** Whose key makes it grow: that of a run. Of limits there are as many as subjects and rules. */
const ownerOf = (counter: QuotaCounter): string | null => (counter.kind === 'run' ? (counter.of?.keyId ?? '') : null);

function bytesOf(counter: QuotaCounter): number {
  if (counter.kind === 'limit' || counter.of === null) return runBytes;
  const { keyId, sub, sessionId, agents } = counter.of;
  return runBytes + 2 * agents.reduce((sum, agent) => sum + agent.length + 16, keyId.length + sub.length + sessionId.length);
}
