// Holds a lease: the share of this process in one counter that other processes use too. It is a pure state machine that
// receives the time as an argument. `leases.ts` keeps all leases. test/sidecar/engine/limits/exactness.test.ts runs it
// against the ledger.
//
// States of a grant: live (calls use it; the grant that expires first is used first) → ended (expired, used up,
// recalled, or void because its limit was lowered). `ended-grants.ts` reports ended grants to the ledger.
//
// States of a request to the ledger (`QuotaAsk`): idle → sent (only one request for calls at a time; without an answer
// in time it is sent again) → answered: granted; `full` until a time, before which no request is sent; or `later`. A
// request that only reports ended grants does not wait for anything.
//
// "In use" means: a call was made or wanted within `useMs`. While a lease is in use, the next grant is requested before
// the current one is used up or expires, so that calls find it ready. A lease that is not in use reports its grants and
// holds nothing.
import { bounds, type QuotaAsk, type QuotaCounter, type QuotaGrant, type QuotaResult, type RevisionName } from '@tollgate/proto/contract';
import type { LeasedCounter, Undo } from '../decide/decision.ts';
import { answerMs, EndedGrants, returnMs } from './ended-grants.ts';
import { bucketMs, Grant } from './grant.ts';
import { SentAsks } from './sent-asks.ts';

const useMs = 60_000;
const endsEveryMs = 1_000;
/** The next grant is requested when the current one expires within this time. */
const renewMs = bounds.leaseMs * 0.6;
/**
 * The pause before a lease requests the next grant in advance. `recalled`: after its grants were recalled. `later`:
 * after an answer without a grant, so that calls of other holders are not requested more often than renewals.
 */
const calmMs = { recalled: 100, later: 800 };
/** After a grant under a higher limit than this process knows, the next request is sent after this time. */
const otherLimitMs = 100;

const never = Number.NEGATIVE_INFINITY;

/** Counts the calls of all leases since the process started. */
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
  /** True: other processes hold calls of this counter, or have made some. */
  shared = false;
  /** For a run: when it began, according to the ledger. Infinite: the ledger has not reported it. */
  beganAt = Number.POSITIVE_INFINITY;
  /** True: `Leases` manages this lease at present. */
  isActive = false;
  /** When the lease is checked again, unless `onStirred` is called earlier. Null: no time is set. */
  quietUntil: number | null = null;
  /**
   * The current grant, its remaining calls, and the time of the next check. `hasCapacity` normally reads only these
   * fields, because it runs for each call.
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
  /** Until when the answer "other processes hold what is left" is taken as current. */
  #heldUntil = never;
  #calmUntil = never;
  #touchedAt = never;
  /** True: calls were made since the last request was considered. */
  #wasUsed = false;
  /** The number of calls that were made while the ledger could not be reached, and are not reported yet. */
  #owed = 0;

  /** For a run: the total number of calls that were made here. */
  #made = 0;
  /**
   * Set if the ledger may have been reset: it must be informed of at least this many calls. Null: there is nothing to
   * inform it of.
   */
  #offers: number | null = null;
  #offeredIn = 0;

  readonly #waitMs: number;
  readonly #tally: LeaseTally;
  readonly #onStirred: (lease: Lease) => void;

  /**
   * `after`: all requests of this lease have higher numbers. `waitMs`: how long calls wait for the lease. `onStirred`:
   * called when the result of `hasNothingToAskUntil` is no longer valid.
   */
  constructor(
    counter: QuotaCounter,
    { after = 0, tally = { granted: 0, used: 0 }, waitMs = 0, onStirred = () => undefined }: LeaseParts = {},
  ) {
    this.counter = counter;
    this.#asks = new SentAsks(after, Math.max(answerMs, waitMs));
    this.#waitMs = waitMs;
    this.#tally = tally;
    this.#onStirred = onStirred;
  }

  hasCapacity(now: number): boolean {
    return (this.#left > 0 && now < this.#lookAt) || this.#look(now);
  }

  take(now: number): void {
    if (!this.hasCapacity(now)) throw new RangeError('the method "take" must only be called while the lease has calls left');
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

  /**
   * Returns the undo of the call that `owe` recorded last. A call that was already reported to the ledger stays
   * counted.
   */
  undoOwed(): Undo {
    return (now) => {
      if (this.#owed === 0) return;
      this.#owed -= 1;
      this.#made -= 1;
      this.touch(now);
    };
  }

  /**
   * Gives one call back to its grant. A call that was reported to the ledger stays charged until it leaves the window.
   * Thus the ledger never knows of fewer calls than were made.
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

  /**
   * The time from which the lease is no longer in use, unless another call wants it before. It is rounded up to a whole
   * second, so that one message returns all leases that go out of use in that second.
   */
  touch(now: number): void {
    this.#touchedAt = now;
    this.#onStirred(this);
  }

  /** Returns the number of calls that can be made with the grants that are held now. */
  tokens(now: number): number {
    this.#note(now);
    return this.#grants.reduce((sum, { left, until }) => (now < until ? sum + left : sum), 0);
  }

  /** Returns whether no calls are left at `now`, according to the ledger's last answer. */
  isFull(now: number): boolean {
    return this.#fullUntil > now;
  }

  /** Returns the ms until calls are available. Null: never. Only valid for a full lease. */
  capacityAfter(now: number): number | null {
    return this.#fullUntil === Number.POSITIVE_INFINITY ? null : this.#fullUntil - now;
  }

  /** Returns whether the ledger has answered lately that other processes hold what is left. */
  isHeldElsewhere(now: number): boolean {
    return now < this.#heldUntil;
  }

  /** Returns when the ledger may be asked again, as it has answered. Infinite: it has said no time that is to come. */
  asksAgainAt(now: number): number {
    return this.#laterUntil > now ? this.#laterUntil : Number.POSITIVE_INFINITY;
  }

  /** For a run: the grants of which the ledger does not know yet how much was used. */
  get heldGrants(): readonly Grant[] {
    this.#note(this.#lookAt);
    return this.#ended.size === 0 ? this.#grants : [...this.#grants, ...this.#ended.grants];
  }

  /** Returns whether the lease holds no grants, has nothing to report to the ledger, and is not in use. */
  isIdle(now: number): boolean {
    return this.#grants.length === 0 && this.#ended.size === 0 && this.#owed === 0 && !this.#isPromised && !this.#isInUse(now);
  }

  /**
   * Returns the time until which the lease has nothing to request and is not idle, unless `onStirred` is called
   * earlier. Null: the lease must be checked again soon. This is always so for a limit, because calls that use its
   * grants send no notification.
   */
  hasNothingToAskUntil(now: number): number | null {
    const isUntold = this.#ended.size > 0 || this.#owed > 0 || this.#asks.hasLost || this.#asks.hasUnanswered;
    if (this.counter.kind === 'limit' || isUntold || !this.#isInUse(now)) return null;
    const unusedAt = this.#unusedAt;
    if (this.#isCalm(now)) return unusedAt;
    const mutedUntil = Math.max(this.#laterUntil, this.#grants.length === 0 ? this.#fullUntil : never);
    return mutedUntil > now ? Math.min(mutedUntil, unusedAt) : null;
  }

  /** True: a grant that does not expire may still arrive. */
  get #isPromised(): boolean {
    return this.#asks.hasLost || (this.counter.kind === 'run' && this.#asks.hasUnanswered);
  }

  /**
   * Sets the limit by which calls are decided from now on. Grants under a higher limit become void. Thus a window never
   * holds more calls than the highest limit that was valid in it.
   */
  limitTo(max: number): void {
    if (max === this.#max) return;
    this.#max = max;
    this.#end(this.#grants.filter((grant) => grant.max > max));
    this.policyChanged();
  }

  /** Forgets the answers `full` and `later`, because policy changed and the limit may have changed with it. */
  policyChanged(): void {
    this.#fullUntil = never;
    this.#laterUntil = never;
    this.#onStirred(this);
  }

  /** Drops all grants, because the ledger uses another database and no grant is valid any more. */
  void(): void {
    this.#grants = [];
    this.#choose(never);
    this.#ended.clear();
    this.#asks.clear();
    this.policyChanged();
    if (this.counter.kind === 'run' && this.#made > 0) this.#offers = this.#made;
  }

  /** Resets the lease to the state of a new one. It is no longer managed, and the ledger knows all of its calls. */
  forgotten(): void {
    this.shared = false;
  }

  /** Notes that none of the sent requests will be answered. */
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

  /** Gives back all calls for good. Requests that were not answered are not sent again. */
  release(): void {
    this.giveUp();
    this.#asks.abandon();
  }

  /** Gives back the calls that are held now or will still be granted, because the lease will not be used for now. */
  giveUp(): void {
    this.#end(this.#grants);
    this.#touchedAt = never;
    this.#wasUsed = false;
    this.#onStirred(this);
  }

  /**
   * Returns the request to send now. Null: there is nothing to send. `waiting`: the number of calls that wait for the
   * lease.
   */
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
    if (result.kind !== 'taken') this.#heldUntil = never;
    if (result.kind === 'later' && result.held) {
      this.shared = true;
      this.#heldUntil = now + result.askAfterMs + this.#waitMs;
    }
    if (result.kind === 'grant') return this.#granted(result, sent.at, now);
    if (result.kind === 'full') {
      this.shared ||= result.shared;
      // The run has used up its cap, so the unreported calls cannot be charged any more.
      if (result.roomAfterMs === null) this.#owed = 0;
      if (isAwaited && sent.max === this.#max)
        this.#fullUntil = result.roomAfterMs === null ? Number.POSITIVE_INFINITY : now + result.roomAfterMs;
    } else if (isAwaited && result.kind !== 'taken') {
      // The ledger does not know this counter. Its policy differs from the policy here for a short time. An agent that
      // was removed has no cap, so its unreported calls are dropped.
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
   * Records in the grant the calls that used it since the last check. All of them were made before `#lookAt`, the time
   * of the next check.
   */
  #note(now: number): void {
    const grant = this.#current;
    if (grant === null || grant.left === this.#left) return;
    this.#tally.used += grant.left - this.#left;
    grant.use(grant.left - this.#left, Math.min(now, this.#lookAt));
    this.#wasUsed = true;
  }

  /** Ends the grants that are used up or expired, and chooses the next one. Returns whether there is one. */
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
    // Calls that are given back are available again, so the counter is no longer full.
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

  /** Returns whether there is nothing to request or report. This is so for most leases at most times. */
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
    // If a request with reports is sent anyway, it also requests the calls that would be requested soon.
    return this.#isRunningOut(returns ? now + returnMs : now);
  }

  /** Rounded up, so that one message returns all leases whose use has ended within a second. */
  get #unusedAt(): number {
    return Math.ceil((this.#touchedAt + useMs) / endsEveryMs) * endsEveryMs;
  }

  #isInUse(now: number): boolean {
    return now < this.#unusedAt;
  }
}
