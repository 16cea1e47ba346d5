// The asks of one lease that may still be answered, and the grants that answers have brought: each grant is taken once,
// and lives from when its own ask was sent, whichever answer comes first.
//
// States of an ask that wants something: sent → answered, or lost with its stream. Of a run, whose grants do not end by
// themselves, a lost one is sent again under its number: so the ledger knows what it has granted for it.
import { bounds } from '@tollgate/proto/contract';
import type { Grant } from './grant.ts';

const keptMax = 64;

interface SentAsk {
  readonly at: number;
  /** The limit that it named. */
  readonly max: number;
}

export class SentAsks {
  #number: number;
  readonly #sent = new Map<number, SentAsk>();
  readonly #known = new Map<number, number>();
  /** Those that want something and were not answered. */
  readonly #unanswered = new Set<number>();
  #lost: readonly number[] = [];
  /** The latest that wants something. */
  #wanting: { readonly number: number; readonly at: number } | null = null;

  readonly #patienceMs: number;

  /** `after`: no ask of it has this number or a lower one. `patienceMs`: for so long an answer is waited for. */
  constructor(after: number, patienceMs: number) {
    this.#number = after;
    this.#patienceMs = patienceMs;
  }

  /** Of the last ask; they rise. */
  get number(): number {
    return this.#number;
  }

  /** Answers the number of the ask that is sent now, under this limit. */
  send(now: number, max: number, wants: boolean): number {
    const [lost, ...others] = this.#lost;
    const number = wants && lost !== undefined ? lost : (this.#number += 1);
    this.#sent.set(number, { at: now, max });
    if (wants) {
      this.#lost = others;
      this.#wanting = { number, at: now };
      this.#unanswered.add(number);
    }
    return number;
  }

  /** Some must be sent again. */
  get hasLost(): boolean {
    return this.#lost.length > 0;
  }

  /** Some want something, and were not answered. */
  get hasUnanswered(): boolean {
    return this.#unanswered.size > 0;
  }

  sent(number: number): SentAsk | null {
    return this.#sent.get(number) ?? null;
  }

  isWaitedFor(now: number): boolean {
    return this.#wanting !== null && now - this.#wanting.at < this.#patienceMs;
  }

  /** Whether it is the one that was waited for. */
  isAnswered(number: number): boolean {
    this.#unanswered.delete(number);
    if (this.#wanting?.number !== number) return false;
    this.#wanting = null;
    return true;
  }

  isNew({ id, until }: Grant): boolean {
    if (this.#known.has(id)) return false;
    this.#known.set(id, until);
    return true;
  }

  /** `again`: they are to be sent again. */
  lost(again: boolean): void {
    this.#wanting = null;
    if (again) this.#lost = [...this.#unanswered];
    else this.#unanswered.clear();
  }

  /** None is sent again. */
  abandon(): void {
    this.#lost = [];
    this.#unanswered.clear();
  }

  /** What is so old that no answer to it brings a grant that lives. Grants of runs live until they are settled. */
  forget(now: number, grantsEnd: boolean): void {
    const isOld = (at: number): boolean => grantsEnd && now > at + 2 * bounds.leaseMs;
    for (const [number, { at }] of this.#sent) if (this.#sent.size > keptMax || isOld(at)) this.#sent.delete(number);
    for (const [id, until] of this.#known) if (this.#known.size > keptMax || isOld(until)) this.#known.delete(id);
  }

  clear(): void {
    this.#sent.clear();
    this.#known.clear();
    this.#wanting = null;
    this.abandon();
  }
}
