// The grants of one lease that no call takes of any more, until the ledger has heard what was used of them.
//
// States: to be told → told in an ask → forgotten, once that ask was answered, or the ledger must have ended it by itself.
// What is told twice, or late, changes nothing there.
import { bounds, type SettledGrant } from '@tollgate/proto/contract';
import type { Grant } from './grant.ts';

/** After so long without an answer, an ask is asked anew. */
export const answerMs = 500;
/** The ledger hears of what was used before it has ended the grant by itself, and with that charged all of it. */
export const returnMs = bounds.leaseMs * 0.2;

interface Ended {
  readonly grant: Grant;
  told: { readonly at: number; readonly number: number } | null;
}

export class EndedGrants {
  #ended: readonly Ended[] = [];

  get size(): number {
    return this.#ended.length;
  }

  /** The ledger has not been told of it. */
  isUntold(grant: Grant): boolean {
    return this.#ended.some((ended) => ended.grant === grant && ended.told === null);
  }

  add(grants: readonly Grant[]): void {
    this.#ended = [...this.#ended, ...grants.map((grant) => ({ grant, told: null }))];
  }

  /** Whether one must be told now: what comes back to others at once, the rest in time, or where `urgent` at once too. */
  areDue(now: number, urgent: boolean): boolean {
    return this.#ended.some(({ grant, told }) => {
      if (told !== null) return now - told.at >= answerMs;
      return urgent || grant.left > 0 || grant.until === Number.POSITIVE_INFINITY || grant.until - now < returnMs;
    });
  }

  /** All of them, as many as one ask may settle. */
  tell(number: number, now: number): readonly SettledGrant[] {
    const telling = this.#ended.slice(0, bounds.leaseSettled);
    for (const ended of telling) ended.told = { at: now, number };
    return telling.map(({ grant }) => grant.settled(now));
  }

  answered(number: number): void {
    this.#ended = this.#ended.filter(({ told }) => told?.number !== number);
  }

  /** Nothing that was told will be answered. */
  lost(): void {
    for (const ended of this.#ended) ended.told = null;
  }

  forget(now: number): void {
    // Twice over, whatever its clock says, the ledger has ended these.
    if (this.#ended.length > 0) this.#ended = this.#ended.filter(({ grant }) => now < grant.until + 2 * bounds.leaseMs);
  }

  clear(): void {
    this.#ended = [];
  }
}
