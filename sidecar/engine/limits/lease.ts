// Holds the share of this process in one counter that other processes use too. It is a pure state machine that receives
// the time as an argument. `leases.ts` keeps all leases. test/sidecar/engine/limits/exactness.test.ts runs it against the
// ledger.
//
// States of a grant: live (calls use it; the grant that expires first is used first) → ended (expired, used up,
// recalled, or void because its limit was lowered). `ended-grants.ts` reports ended grants to the ledger.
//
// States of asking: idle → asked (one ask for calls at a time; after `answerMs` without an answer it is sent again) →
// answered: granted; `full` until a time, and no ask is sent before it; or `later`. An ask that only settles does not
// wait for anything.
//
// "In use" means: a call was made or wanted within `useMs`. While a lease is in use, the next grant is requested before
// the current one is used up or expires, so that calls find it ready. A lease that is not in use is settled and holds
// nothing.
import { bounds, type QuotaAsk, type QuotaCounter, type QuotaGrant, type QuotaResult, type RevisionName } from '@tollgate/proto/contract';
import type { LeasedCounter, Undo } from '../decide/decision.ts';
import { answerMs, EndedGrants, returnMs } from './ended-grants.ts';
import { bucketMs, Grant } from './grant.ts';
import { SentAsks } from './sent-asks.ts';

const useMs = 60_000;
/** The next grant is requested when the current one has at most this time left. */
const renewMs = bounds.leaseMs * 0.6;
/**
 * A holder whose grants were recalled waits this long before it asks for them again. What others hold is not requested
 * more often than a renewal would be.
 */
const calmMs = { recalled: 100, later: 800 };
/** A holder that received a grant under a higher limit than it knows asks again after this time. */
const otherLimitMs = 100;

const never = Number.NEGATIVE_INFINITY;

/** Calls of all leases together, since the process started. */
export interface LeaseTally {
  granted: number;
  used: number;
}

interface LeaseParts {
  readonly after?: number;
  readonly tally?: LeaseTally;
  readonly waitMs?: number;
  readonly onStirred?: (lease: Lease) => void;
}

export class Lease implements LeasedCounter {
  readonly counter: QuotaCounter;
  /** Other processes hold some of it, or have used some. */
  shared = false;
  /** When a run began, according to the ledger. Infinite: the ledger has not reported it. */
  beganAt = Number.POSITIVE_INFINITY;
  /** `Leases` manages it at present. */
  isActive = false;
  /** When it is checked again if it is not stirred earlier. Null: no time is set. */
  quietUntil: number | null = null;
  /**
   * The grant that calls use, how many calls are left of it, and when to check again. A call reads and writes only
   * these three.
   */
  #current: Grant | null = null;
  #left = 0;
  #lookAt = never;
  #grants: readonly Grant[] = [];
  readonly #ended = new EndedGrants();
  readonly #asks: SentAsks;
  #max = Number.POSITIVE_INFINITY;
  #fullUntil = never;
  #laterUntil = never;
  #calmUntil = never;
  #touchedAt = never;
  /** Calls were made since the last ask was considered. */
  #wasUsed = false;
  /** Calls that were made while the ledger could not be reached. */
  #owed = 0;

  /** For a run: the total number of calls that were made here. */
  #made = 0;
  /** The ledger may have been reset. It must be informed of at least this many calls. */
  #offers: number | null = null;
  #offeredIn = 0;

  readonly #tally: LeaseTally;
  readonly #onStirred: (lease: Lease) => void;

  /**
   * `after`: all its asks have higher numbers. `waitMs`: how long calls wait for it. `onStirred`: called when the
   * result of `hasNothingToAskUntil` is no longer valid.
   */
  constructor(
    counter: QuotaCounter,
    { after = 0, tally = { granted: 0, used: 0 }, waitMs = 0, onStirred = () => undefined }: LeaseParts = {},
  ) {
    this.counter = counter;
    this.#asks = new SentAsks(after, Math.max(answerMs, waitMs));
    this.#tally = tally;
    this.#onStirred = onStirred;
  }

  hasCapacity(now: number): boolean {
    return (this.#left > 0 && now < this.#lookAt) || this.#look(now);
  }

  take(now: number): void {
    if (!this.hasCapacity(now)) throw new RangeError('the lease has no calls left');
    this.#left -= 1;
    this.#made += 1;
  }

  /** Records a call that was made while the ledger could not be reached. */
  owe(now: number): void {
    this.touch(now);
    this.#owed += 1;
    this.#made += 1;
  }

  undoOf(takenAt: number): Undo {
    const grant = this.#current;
    return (now) => {
      if (grant !== null) this.#putBack(grant, takenAt, now);
    };
  }

  /** For the call that was owed last. If it was already reported to the ledger, it stays counted. */
  undoOwed(): Undo {
    return (now) => {
      if (this.#owed === 0) return;
      this.#owed -= 1;
      this.#made -= 1;
      this.touch(now);
    };
  }

  /**
   * A call that was reported to the ledger stays charged until it leaves the window. Thus the number of calls made is
   * never higher than the ledger knows.
   */
  #putBack(grant: Grant, takenAt: number, now: number): void {
    this.#note(now);
    if ((!this.#grants.includes(grant) && !this.#ended.isUntold(grant)) || !grant.unuse(takenAt)) return;
    if (grant === this.#current) this.#left = grant.left;
    this.#made -= 1;
    this.#tally.used -= 1;
    this.#fullUntil = never;
    this.#onStirred(this);
  }

  /** Records that a call was wanted. */
  touch(now: number): void {
    this.#touchedAt = now;
    this.#onStirred(this);
  }

  /** Returns the number of calls that can be made until something else happens. */
  tokens(now: number): number {
    this.#note(now);
    return this.#grants.reduce((sum, { left, until }) => (now < until ? sum + left : sum), 0);
  }

  /** Returns whether all calls have been made, until the ledger reports otherwise. */
  isFull(now: number): boolean {
    return this.#fullUntil > now;
  }

  /** Returns the ms until calls are available. Null: never. Only for a full lease. */
  capacityAfter(now: number): number | null {
    return this.#fullUntil === Number.POSITIVE_INFINITY ? null : this.#fullUntil - now;
  }

  /** Returns whether the lease holds nothing, owes nothing, and is not in use. */
  isIdle(now: number): boolean {
    return this.#grants.length === 0 && this.#ended.size === 0 && this.#owed === 0 && !this.#isPromised && !this.#isInUse(now);
  }

  /**
   * Returns the time until which there is nothing to ask and the lease is not idle, unless it is stirred earlier. Null:
   * it must be checked again soon, because calls that use a limit's grant send no notification.
   */
  hasNothingToAskUntil(now: number): number | null {
    const isUntold = this.#ended.size > 0 || this.#owed > 0 || this.#asks.hasLost || this.#asks.hasUnanswered;
    if (this.counter.kind === 'limit' || isUntold || !this.#isInUse(now)) return null;
    const unusedAt = this.#touchedAt + useMs;
    if (this.#isCalm(now)) return unusedAt;
    const mutedUntil = Math.max(this.#laterUntil, this.#grants.length === 0 ? this.#fullUntil : never);
    return mutedUntil > now ? Math.min(mutedUntil, unusedAt) : null;
  }

  /** A grant may still arrive that does not expire. */
  get #isPromised(): boolean {
    return this.#asks.hasLost || (this.counter.kind === 'run' && this.#asks.hasUnanswered);
  }

  /**
   * Sets the limit by which calls are decided from now on. Grants under a higher limit become void: no window holds
   * more calls than the highest of their limits.
   */
  limitTo(max: number): void {
    if (max === this.#max) return;
    this.#max = max;
    this.#end(this.#grants.filter((grant) => grant.max > max));
    this.policyChanged();
  }

  /** Policy changed, and the limit may have changed with it. */
  policyChanged(): void {
    this.#fullUntil = never;
    this.#laterUntil = never;
    this.#onStirred(this);
  }

  /** The ledger uses another database: no grant is valid any more. */
  void(): void {
    this.#grants = [];
    this.#choose(never);
    this.#ended.clear();
    this.#asks.clear();
    this.policyChanged();
    if (this.counter.kind === 'run' && this.#made > 0) this.#offers = this.#made;
  }

  /** The lease is no longer managed, and the ledger knows all of it. It is now like a new lease. */
  forgotten(): void {
    this.shared = false;
  }

  /** None of the sent asks will be answered. */
  lost(): void {
    this.#asks.lost(this.counter.kind === 'run');
    this.#ended.lost();
    this.#laterUntil = never;
    this.#onStirred(this);
  }

  recalled(now: number): void {
    this.shared = true;
    this.#end(this.#grants);
    this.#calmUntil = now + calmMs.recalled;
    this.#onStirred(this);
  }

  /** Gives back everything for good. Nothing here will receive an answer any more. */
  release(): void {
    this.giveUp();
    this.#asks.abandon();
  }

  /** The lease will not be used for now: gives back what is held, and what is still to be granted. */
  giveUp(): void {
    this.#end(this.#grants);
    this.#touchedAt = never;
    this.#wasUsed = false;
    this.#onStirred(this);
  }

  /** Returns the ask to send now, or null. `waiting`: the number of calls that wait for it. */
  ask(now: number, waiting: number, revision: RevisionName): QuotaAsk | null {
    this.#note(now);
    if (this.#wasUsed) this.#touchedAt = now;
    this.#wasUsed = false;
    if (waiting === 0 && this.#isCalm(now)) return null;
    this.#endWhatEnds(now);
    const returns = this.#ended.areDue(now, now < this.#calmUntil);
    const wants = this.#wants(now, waiting, returns);
    if (!wants && !returns) return null;
    const number = this.#asks.send(now, this.#max, wants);
    return {
      counter: this.counter,
      number,
      waiting: waiting + this.#owed,
      onlySettles: !wants,
      revision,
      max: Number.isFinite(this.#max) ? this.#max : null,
      made: this.#offer(number),
      settled: this.#ended.tell(number, now),
    };
  }

  #offer(number: number): number | null {
    if (this.#offers !== null) this.#offeredIn = number;
    return this.#offers;
  }

  answered(number: number, result: QuotaResult, now: number): void {
    const sent = this.#asks.sent(number);
    if (sent === null) return;
    this.#onStirred(this);
    if (number === this.#offeredIn) this.#offers = null;
    this.#ended.answered(number);
    const isAwaited = this.#asks.isAnswered(number);
    if (result.kind === 'grant') return this.#granted(result, sent.at, now);
    if (result.kind === 'full') {
      this.shared ||= result.shared;
      // A run that is used up cannot be charged more.
      if (result.roomAfterMs === null) this.#owed = 0;
      if (isAwaited && sent.max === this.#max)
        this.#fullUntil = result.roomAfterMs === null ? Number.POSITIVE_INFINITY : now + result.roomAfterMs;
    } else if (isAwaited && result.kind !== 'taken') {
      // If the ledger knows no such limit, its policy is newer, or will be soon. An agent that was removed has no cap.
      if (result.kind === 'none') this.#owed = 0;
      this.#laterUntil = now + (result.kind === 'later' ? result.askAfterMs : answerMs);
      this.#calmUntil = Math.max(this.#calmUntil, now + calmMs.later);
    }
  }

  #granted(result: QuotaGrant, sentAt: number, now: number): void {
    const grant = new Grant(result, sentAt);
    if (!this.#asks.isNew(grant)) return;
    this.shared ||= result.shared;
    this.#fullUntil = never;
    if (result.ageMs !== null) this.beganAt = Math.min(this.beganAt, now - result.ageMs);
    this.#tally.granted += grant.tokens;
    this.#tally.used += this.#owed;
    grant.owe(this.#owed, now);
    this.#owed = 0;
    this.#grants = [...this.#grants, grant].toSorted((a, b) => a.until - b.until);
    if (grant.max > this.#max) {
      this.#end([grant]);
      this.#laterUntil = now + otherLimitMs;
    }
    this.#look(now);
  }

  /**
   * Records in the grant what calls took from it. The calls since the last check were made before the next check was
   * due.
   */
  #note(now: number): void {
    const grant = this.#current;
    if (grant === null || grant.left === this.#left) return;
    this.#tally.used += grant.left - this.#left;
    grant.use(grant.left - this.#left, Math.min(now, this.#lookAt));
    this.#wasUsed = true;
  }

  /** Ends the grants that have no calls or no time left. */
  #look(now: number): boolean {
    this.#note(now);
    this.#end(this.#grants.filter(({ left, until }) => left === 0 || until <= now));
    this.#choose(now);
    return this.#current !== null;
  }

  #choose(now: number): void {
    const grant = this.#grants[0] ?? null;
    this.#current = grant;
    this.#left = grant?.left ?? 0;
    this.#lookAt = Math.min(grant?.until ?? never, now + bucketMs);
  }

  #end(over: readonly Grant[]): void {
    if (over.length === 0) return;
    this.#note(this.#lookAt);
    // The calls that are given back are available again.
    if (over.some(({ left }) => left > 0)) this.#fullUntil = never;
    this.#ended.add(over);
    this.#onStirred(this);
    this.#grants = this.#grants.filter((grant) => !over.includes(grant));
    this.#choose(never);
  }

  #endWhatEnds(now: number): void {
    const inUse = this.#isInUse(now);
    this.#end(this.#grants.filter(({ left, until }) => !inUse || left === 0 || until - now < returnMs));
    this.#ended.forget(now);
    this.#asks.forget(now, this.counter.kind === 'limit');
  }

  /** Returns whether there is nothing to ask. This is so for most leases at most times. */
  #isCalm(now: number): boolean {
    if (this.#ended.size > 0 || this.#owed > 0 || this.#asks.hasLost || this.#grants.length === 0 || !this.#isInUse(now)) return false;
    for (const { left, until } of this.#grants) if (left === 0 || until - now < returnMs) return false;
    return !this.#isRunningOut(now);
  }

  #isRunningOut(now: number): boolean {
    let left = 0;
    let granted = 0;
    let lastsMs = 0;
    for (const grant of this.#grants) {
      left += grant.left;
      granted += grant.tokens;
      lastsMs = grant.until - now;
    }
    return left * 2 <= granted || lastsMs < renewMs;
  }

  #wants(now: number, waiting: number, returns: boolean): boolean {
    if (this.#asks.isWaitedFor(now) || now < this.#laterUntil) return false;
    if (this.#asks.hasLost) return true;
    if (this.isFull(now)) return false;
    if (this.#owed > 0 || waiting > this.tokens(now)) return true;
    if (!this.#isInUse(now) || now < this.#calmUntil) return false;
    // Combines two asks into one if the next ask would follow soon.
    return this.#isRunningOut(returns ? now + returnMs : now);
  }

  #isInUse(now: number): boolean {
    return now - this.#touchedAt < useMs;
  }
}
