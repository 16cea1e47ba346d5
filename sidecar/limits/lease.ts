// What this process holds of one counter that others use as well: a pure state machine, told the time. `leases.ts` keeps
// all of them; test/sidecar/limits/exactness.test.ts runs it against the ledger.
//
// States of a grant: live (calls take of it; the one that ends first is used first) → ended (by time, used up, recalled,
// or void because its limit was lowered), which `ended-grants.ts` tells the ledger.
//
// States of asking: idle → asked (one ask for calls at a time; unanswered for `answerMs` it is asked anew) → answered:
// granted; `full` until a time, in which nobody is asked; or `later`. An ask that only settles waits for nothing.
//
// In use means: a call was made, or wanted, within `useMs`. Then a grant is asked for before the one that is held is used
// up or ends, so that calls find it there. What is not in use is settled and holds nothing.
import { bounds, type QuotaAsk, type QuotaCounter, type QuotaGrant, type QuotaResult, type RevisionName } from '@tollgate/proto/contract';
import type { LeasedCounter, Undo } from '../decide/decision.ts';
import { answerMs, EndedGrants, returnMs } from './ended-grants.ts';
import { bucketMs, Grant } from './grant.ts';
import { SentAsks } from './sent-asks.ts';

const useMs = 60_000;
/** A grant is followed by the next once it has no longer to go. */
const renewMs = bounds.leaseMs * 0.6;
/** Who was asked for theirs does not ask for it back at once; what others hold is not asked for more often than a renewal would be. */
const calmMs = { recalled: 100, later: 800 };
/** Who was granted under a higher limit than it knows asks so much later again. */
const otherLimitMs = 100;

const never = Number.NEGATIVE_INFINITY;

/** Calls of all leases together, since the process began. */
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
  /** Others hold some of it, or have used some. */
  shared = false;
  /** When a run began, by the ledger; infinite: it has not said. */
  beganAt = Number.POSITIVE_INFINITY;
  /** Somebody looks after it. */
  isActive = false;
  /** When it is looked at again, though it is not stirred before; null: no time is set. */
  quietUntil: number | null = null;
  /** The grant that calls take of, how many are left of it, and when to look again. Of what a call reads and writes there is no more. */
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
  /** Calls were made since it was looked after. */
  #wasUsed = false;
  /** Calls that were made while nobody could be asked. */
  #owed = 0;

  /** Of a run: calls that were made here, all in all. */
  #made = 0;
  /** The ledger may have been set back: it must hear of at least so many. */
  #offers: number | null = null;
  #offeredIn = 0;

  readonly #tally: LeaseTally;
  readonly #onStirred: (lease: Lease) => void;

  /** `after`: its asks have higher numbers. `waitMs`: how long calls wait for it. `onStirred`: what `hasNothingToAskUntil` said holds no longer. */
  constructor(
    counter: QuotaCounter,
    { after = 0, tally = { granted: 0, used: 0 }, waitMs = 0, onStirred = () => undefined }: LeaseParts = {},
  ) {
    this.counter = counter;
    this.#asks = new SentAsks(after, Math.max(answerMs, waitMs));
    this.#tally = tally;
    this.#onStirred = onStirred;
  }

  hasRoom(now: number): boolean {
    return (this.#left > 0 && now < this.#lookAt) || this.#look(now);
  }

  take(now: number): void {
    if (!this.hasRoom(now)) throw new RangeError('no call is left of a lease');
    this.#left -= 1;
    this.#made += 1;
  }

  /** A call was made that nobody could be asked for. */
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

  /** Of the call that was owed last. What the ledger has been told of since stays. */
  undoOwed(): Undo {
    return (now) => {
      if (this.#owed === 0) return;
      this.#owed -= 1;
      this.#made -= 1;
      this.touch(now);
    };
  }

  /** Once the ledger has been told that a call was made, it stays charged until it leaves the window: never is more made than it knows. */
  #putBack(grant: Grant, takenAt: number, now: number): void {
    this.#note(now);
    if ((!this.#grants.includes(grant) && !this.#ended.isUntold(grant)) || !grant.unuse(takenAt)) return;
    if (grant === this.#current) this.#left = grant.left;
    this.#made -= 1;
    this.#tally.used -= 1;
    this.#fullUntil = never;
    this.#onStirred(this);
  }

  /** A call was wanted. */
  touch(now: number): void {
    this.#touchedAt = now;
    this.#onStirred(this);
  }

  /** Calls that can be made until something else happens. */
  tokens(now: number): number {
    this.#note(now);
    return this.#grants.reduce((sum, { left, until }) => (now < until ? sum + left : sum), 0);
  }

  /** All calls have been made, until the ledger knows better. */
  isFull(now: number): boolean {
    return this.#fullUntil > now;
  }

  /** Ms until there is room; null: never. Of one that is full. */
  roomAfter(now: number): number | null {
    return this.#fullUntil === Number.POSITIVE_INFINITY ? null : this.#fullUntil - now;
  }

  /** It holds nothing, owes nothing, and nobody uses it. */
  isIdle(now: number): boolean {
    return this.#grants.length === 0 && this.#ended.size === 0 && this.#owed === 0 && !this.#isPromised && !this.#isInUse(now);
  }

  /**
   * Until then there is nothing to ask, and it is not idle, unless it is stirred before; null: it is to be looked at again soon, as what
   * calls take of a limit tells nobody.
   */
  hasNothingToAskUntil(now: number): number | null {
    const isUntold = this.#ended.size > 0 || this.#owed > 0 || this.#asks.hasLost || this.#asks.hasUnanswered;
    if (this.counter.kind === 'limit' || isUntold || !this.#isInUse(now)) return null;
    const unusedAt = this.#touchedAt + useMs;
    if (this.#isCalm(now)) return unusedAt;
    const mutedUntil = Math.max(this.#laterUntil, this.#grants.length === 0 ? this.#fullUntil : never);
    return mutedUntil > now ? Math.min(mutedUntil, unusedAt) : null;
  }

  /** A grant may come that does not end by itself. */
  get #isPromised(): boolean {
    return this.#asks.hasLost || (this.counter.kind === 'run' && this.#asks.hasUnanswered);
  }

  /** The limit that calls are decided by from now on. What was granted under a higher one is void: no window holds more calls than the highest of their limits. */
  limitTo(max: number): void {
    if (max === this.#max) return;
    this.#max = max;
    this.#end(this.#grants.filter((grant) => grant.max > max));
    this.policyChanged();
  }

  /** Policy changed, and with it perhaps the limit. */
  policyChanged(): void {
    this.#fullUntil = never;
    this.#laterUntil = never;
    this.#onStirred(this);
  }

  /** Another database: nothing that was granted holds. */
  void(): void {
    this.#grants = [];
    this.#choose(never);
    this.#ended.clear();
    this.#asks.clear();
    this.policyChanged();
    if (this.counter.kind === 'run' && this.#made > 0) this.#offers = this.#made;
  }

  /** Nobody looks after it any more, and the ledger knows all of it: it is as one that is new. */
  forgotten(): void {
    this.shared = false;
  }

  /** Nothing that was asked will be answered. */
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

  /** Gives back all there is, for good: who still hears an answer has gone. */
  release(): void {
    this.giveUp();
    this.#asks.abandon();
  }

  /** Nobody will use it for now: gives back what is held, and what is still to be granted. */
  giveUp(): void {
    this.#end(this.#grants);
    this.#touchedAt = never;
    this.#wasUsed = false;
    this.#onStirred(this);
  }

  /** What is to be asked now, if anything. `waiting`: calls that wait for it. */
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
      // A run that is used up can be charged no more.
      if (result.roomAfterMs === null) this.#owed = 0;
      if (isAwaited && sent.max === this.#max)
        this.#fullUntil = result.roomAfterMs === null ? Number.POSITIVE_INFINITY : now + result.roomAfterMs;
    } else if (isAwaited && result.kind !== 'taken') {
      // Where there is no such limit, policy is newer there, or about to be; an agent that is gone has no cap.
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

  /** Tells the grant what was taken of it. The calls since the last look were made before the next was due. */
  #note(now: number): void {
    const grant = this.#current;
    if (grant === null || grant.left === this.#left) return;
    this.#tally.used += grant.left - this.#left;
    grant.use(grant.left - this.#left, Math.min(now, this.#lookAt));
    this.#wasUsed = true;
  }

  /** Leaves behind what has no calls left, or no time. */
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
    // What comes back is room.
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

  /** There is nothing to ask, as for most leases at most times. */
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
    // Two asks in one, where the next would follow soon.
    return this.#isRunningOut(returns ? now + returnMs : now);
  }

  #isInUse(now: number): boolean {
    return now - this.#touchedAt < useMs;
  }
}
