// Keeps the requests (`QuotaAsk`) of one lease that may still be answered, and the grants that the answers have
// brought. Each grant is accepted once. Its lifetime starts when its own request was sent, whichever answer arrives
// first.
//
// States of a request for calls: sent → answered, or lost with its stream. Grants of runs do not expire, so a lost
// request of a run is sent again with the same number. By this number the ledger knows what it has already granted for
// the request.
import { bounds } from '@tollgate/proto/contract';
import type { Grant } from './grant.ts';

const keptMax = 64;

interface SentAsk {
  readonly number: number;
  readonly at: number;
  /** The limit that was named in the request. */
  readonly max: number;
  /** True: the request is for calls, and was not answered. */
  isUnanswered: boolean;
}

/** A grant that was accepted. */
interface AcceptedGrant {
  readonly id: number;
  readonly until: number;
}

// These are lists and not maps, because each has few items and there are many leases.
export class SentAsks {
  #number: number;
  #sent: SentAsk[] = [];
  #known: AcceptedGrant[] = [];
  #lost: readonly number[] = [];
  /** The latest request for calls, as long as its answer is awaited. */
  #wanting: SentAsk | null = null;

  readonly #patienceMs: number;

  /** `after`: all requests get higher numbers. `patienceMs`: how long to wait for an answer. */
  constructor(after: number, patienceMs: number) {
    this.#number = after;
    this.#patienceMs = patienceMs;
  }

  /**
   * Notes a request that is sent now, and returns its number. `max`: the limit that it names. `wants`: whether it is
   * for calls.
   */
  send(now: number, max: number, wants: boolean): number {
    const [lost, ...others] = this.#lost;
    const number = wants && lost !== undefined ? lost : (this.#number += 1);
    const ask = { number, at: now, max, isUnanswered: wants };
    // `concat` allocates no spare memory. Most leases have only one request.
    this.#sent = this.#sent.filter((sent) => sent.number !== number).concat(ask);
    if (wants) {
      this.#lost = others;
      this.#wanting = ask;
    }
    return number;
  }

  /** True: some requests must be sent again. */
  get hasLost(): boolean {
    return this.#lost.length > 0;
  }

  /** True: some requests for calls were not answered. */
  get hasUnanswered(): boolean {
    return this.#sent.some(({ isUnanswered }) => isUnanswered);
  }

  sent(number: number): SentAsk | null {
    return this.#sent.find((sent) => sent.number === number) ?? null;
  }

  isWaitedFor(now: number): boolean {
    return this.#wanting !== null && now - this.#wanting.at < this.#patienceMs;
  }

  /** Notes that a request is answered. Returns whether it is the request that was waited for. */
  isAnswered(number: number): boolean {
    const ask = this.sent(number);
    if (ask !== null) ask.isUnanswered = false;
    if (this.#wanting?.number !== number) return false;
    this.#wanting = null;
    return true;
  }

  isNew({ id, until }: Grant): boolean {
    if (this.#known.some((known) => known.id === id)) return false;
    this.#known = this.#known.concat({ id, until });
    return true;
  }

  /** Notes that the stream of the requests is lost. `again`: unanswered requests must be sent again. */
  lost(again: boolean): void {
    this.#wanting = null;
    if (again) this.#lost = this.#sent.filter(({ isUnanswered }) => isUnanswered).map(({ number }) => number);
    else this.#answerAll();
  }

  /** Gives up the unanswered requests: none of them is sent again. */
  abandon(): void {
    this.#lost = [];
    this.#answerAll();
  }

  #answerAll(): void {
    for (const ask of this.#sent) ask.isUnanswered = false;
  }

  /**
   * Removes requests and grants that are so old that no answer can bring a valid grant. `grantsEnd`: whether grants
   * expire; grants of runs do not.
   */
  forget(now: number, grantsEnd: boolean): void {
    const isOld = (at: number): boolean => grantsEnd && now > at + 2 * bounds.leaseMs;
    this.#sent = newestOf(
      this.#sent,
      ({ at }) => isOld(at),
      ({ isUnanswered }) => isUnanswered && !grantsEnd,
    );
    this.#known = newestOf(this.#known, ({ until }) => isOld(until));
  }

  clear(): void {
    this.#sent = [];
    this.#known = [];
    this.#wanting = null;
    this.#lost = [];
  }
}

/**
 * Returns the items that are not old. If there are more than `keptMax` items, only two groups of these are returned:
 * the newest `keptMax`, and those that must stay.
 */
function newestOf<T>(all: T[], isOld: (one: T) => boolean, mustStay: (one: T) => boolean = () => false): T[] {
  if (all.length <= keptMax && !all.some(isOld)) return all;
  return all.filter((one, at) => !isOld(one) && (at >= all.length - keptMax || mustStay(one)));
}
