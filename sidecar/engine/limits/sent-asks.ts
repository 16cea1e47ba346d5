// Keeps the asks of one lease that may still be answered, and the grants that answers have brought. Each grant is
// accepted once. Its lifetime starts when its own ask was sent, whichever answer arrives first.
//
// States of an ask that wants something: sent → answered, or lost with its stream. Grants of runs do not expire, so a
// lost ask of a run is sent again under its number. By this number the ledger knows what it has already granted for it.
import { bounds } from '@tollgate/proto/contract';
import type { Grant } from './grant.ts';

const keptMax = 64;

interface SentAsk {
  readonly number: number;
  readonly at: number;
  /** The limit that it named. */
  readonly max: number;
  /** It wants something and was not answered. */
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
  /** The latest ask that wants something. */
  #wanting: SentAsk | null = null;

  readonly #patienceMs: number;

  /** `after`: no ask has this number or a lower one. `patienceMs`: how long to wait for an answer. */
  constructor(after: number, patienceMs: number) {
    this.#number = after;
    this.#patienceMs = patienceMs;
  }

  /** Returns the number of the ask that is sent now, under this limit. */
  send(now: number, max: number, wants: boolean): number {
    const [lost, ...others] = this.#lost;
    const number = wants && lost !== undefined ? lost : (this.#number += 1);
    const ask = { number, at: now, max, isUnanswered: wants };
    // `concat` allocates no space for more: most leases have one ask.
    this.#sent = this.#sent.filter((sent) => sent.number !== number).concat(ask);
    if (wants) {
      this.#lost = others;
      this.#wanting = ask;
    }
    return number;
  }

  /** Some asks must be sent again. */
  get hasLost(): boolean {
    return this.#lost.length > 0;
  }

  /** Some asks want something and were not answered. */
  get hasUnanswered(): boolean {
    return this.#sent.some(({ isUnanswered }) => isUnanswered);
  }

  sent(number: number): SentAsk | null {
    return this.#sent.find((sent) => sent.number === number) ?? null;
  }

  isWaitedFor(now: number): boolean {
    return this.#wanting !== null && now - this.#wanting.at < this.#patienceMs;
  }

  /** Returns whether it is the ask that was waited for. */
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

  /** `again`: the asks are to be sent again. */
  lost(again: boolean): void {
    this.#wanting = null;
    if (again) this.#lost = this.#sent.filter(({ isUnanswered }) => isUnanswered).map(({ number }) => number);
    else this.#answerAll();
  }

  /** No ask is sent again. */
  abandon(): void {
    this.#lost = [];
    this.#answerAll();
  }

  #answerAll(): void {
    for (const ask of this.#sent) ask.isUnanswered = false;
  }

  /**
   * Removes asks and grants that are so old that no answer brings a live grant. Grants of runs live until they are
   * settled.
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
 * Returns the items that are not old. If there are more than `keptMax`, only the newest are kept, and those that must
 * stay.
 */
function newestOf<T>(all: T[], isOld: (one: T) => boolean, mustStay: (one: T) => boolean = () => false): T[] {
  if (all.length <= keptMax && !all.some(isOld)) return all;
  return all.filter((one, at) => !isOld(one) && (at >= all.length - keptMax || mustStay(one)));
}
