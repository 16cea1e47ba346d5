// The asks of one lease that may still be answered, and the grants that answers have brought: each grant is taken once,
// and lives from when its own ask was sent, whichever answer comes first.
//
// States of an ask that wants something: sent → answered, or lost with its stream. Of a run, whose grants do not end by
// themselves, a lost one is sent again under its number: so the ledger knows what it has granted for it.
import { bounds } from '@tollgate/proto/contract';
import type { Grant } from './grant.ts';

const keptMax = 64;

interface SentAsk {
  readonly number: number;
  readonly at: number;
  /** The limit that it named. */
  readonly max: number;
  /** It wants something, and was not answered. */
  isUnanswered: boolean;
}

/** A grant that was taken. */
interface Known {
  readonly id: number;
  readonly until: number;
}

// Lists, not maps: there are a few of each, and of leases there are many.
export class SentAsks {
  #number: number;
  #sent: SentAsk[] = [];
  #known: Known[] = [];
  #lost: readonly number[] = [];
  /** The latest that wants something. */
  #wanting: SentAsk | null = null;

  readonly #patienceMs: number;

  /** `after`: no ask of it has this number or a lower one. `patienceMs`: for so long an answer is waited for. */
  constructor(after: number, patienceMs: number) {
    this.#number = after;
    this.#patienceMs = patienceMs;
  }

  /** Answers the number of the ask that is sent now, under this limit. */
  send(now: number, max: number, wants: boolean): number {
    const [lost, ...others] = this.#lost;
    const number = wants && lost !== undefined ? lost : (this.#number += 1);
    const ask = { number, at: now, max, isUnanswered: wants };
    this.#sent = [...this.#sent.filter((sent) => sent.number !== number), ask];
    if (wants) {
      this.#lost = others;
      this.#wanting = ask;
    }
    return number;
  }

  /** Some must be sent again. */
  get hasLost(): boolean {
    return this.#lost.length > 0;
  }

  /** Some want something, and were not answered. */
  get hasUnanswered(): boolean {
    return this.#sent.some(({ isUnanswered }) => isUnanswered);
  }

  sent(number: number): SentAsk | null {
    return this.#sent.find((sent) => sent.number === number) ?? null;
  }

  isWaitedFor(now: number): boolean {
    return this.#wanting !== null && now - this.#wanting.at < this.#patienceMs;
  }

  /** Whether it is the one that was waited for. */
  isAnswered(number: number): boolean {
    const ask = this.sent(number);
    if (ask !== null) ask.isUnanswered = false;
    if (this.#wanting?.number !== number) return false;
    this.#wanting = null;
    return true;
  }

  isNew({ id, until }: Grant): boolean {
    if (this.#known.some((known) => known.id === id)) return false;
    this.#known.push({ id, until });
    return true;
  }

  /** `again`: they are to be sent again. */
  lost(again: boolean): void {
    this.#wanting = null;
    if (again) this.#lost = this.#sent.filter(({ isUnanswered }) => isUnanswered).map(({ number }) => number);
    else this.#answerAll();
  }

  /** None is sent again. */
  abandon(): void {
    this.#lost = [];
    this.#answerAll();
  }

  #answerAll(): void {
    for (const ask of this.#sent) ask.isUnanswered = false;
  }

  /** What is so old that no answer to it brings a grant that lives. Grants of runs live until they are settled. */
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

/** Those that are not old; of more than `keptMax` the newest, and what must stay. */
function newestOf<T>(all: T[], isOld: (one: T) => boolean, mustStay: (one: T) => boolean = () => false): T[] {
  if (all.length <= keptMax && !all.some(isOld)) return all;
  return all.filter((one, at) => !isOld(one) && (at >= all.length - keptMax || mustStay(one)));
}
