// Keeps the grants of one lease that calls no longer use, until the ledger knows how many of their calls were made.
//
// States: to be reported → reported in a request to the ledger (`QuotaAsk`) → removed. A grant is removed after the
// answer to that request, or when the ledger must have ended the grant without a report. A report that arrives twice or
// late changes nothing in the ledger.
import { bounds, type SettledGrant } from '@tollgate/proto/contract';
import type { Grant } from './grant.ts';

/**
 * If a grant arrives that was made under a higher limit than this process knows, the next request is sent after this
 * time.
 */
export const answerMs = 500;
/** The usage of a grant is reported this long before the ledger would end the grant and charge all of its calls. */
export const returnMs = bounds.leaseMs * 0.2;

interface EndedGrant {
  readonly grant: Grant;
  told: { readonly at: number; readonly number: number } | null;
}

export class EndedGrants {
  #ended: readonly EndedGrant[] = [];

  get size(): number {
    return this.#ended.length;
  }

  get grants(): readonly Grant[] {
    return this.#ended.map(({ grant }) => grant);
  }

  /** Returns whether the grant has ended and was not yet reported to the ledger. */
  isUntold(grant: Grant): boolean {
    return this.#ended.some((ended) => ended.grant === grant && ended.told === null);
  }

  add(grants: readonly Grant[]): void {
    this.#ended = [...this.#ended, ...grants.map((grant) => ({ grant, told: null }))];
  }

  /**
   * Returns whether a grant must be reported now. A grant with calls left is due at once, because others can use these
   * calls. A grant that does not expire is due at once, too. Any other grant is due shortly before it expires, or at
   * once if `urgent`.
   */
  areDue(now: number, urgent: boolean): boolean {
    return this.#ended.some(({ grant, told }) => {
      if (told !== null) return now - told.at >= answerMs;
      return urgent || grant.left > 0 || grant.until === Number.POSITIVE_INFINITY || grant.until - now < returnMs;
    });
  }

  /**
   * Returns the reports about all ended grants, at most as many as one request may contain. `number`: the number of
   * that request.
   */
  tell(number: number, now: number): readonly SettledGrant[] {
    const reported = this.#ended.slice(0, bounds.leaseSettled);
    for (const ended of reported) ended.told = { at: now, number };
    return reported.map(({ grant }) => grant.settled(now));
  }

  answered(number: number): void {
    this.#ended = this.#ended.filter(({ told }) => told?.number !== number);
  }

  /** Marks all grants as not reported: no report that was sent will be answered. */
  lost(): void {
    for (const ended of this.#ended) ended.told = null;
  }

  forget(now: number): void {
    // Twice the lease time after its expiry, the ledger has ended a grant too, whatever the ledger's clock shows.
    if (this.#ended.length > 0) this.#ended = this.#ended.filter(({ grant }) => now < grant.until + 2 * bounds.leaseMs);
  }

  clear(): void {
    this.#ended = [];
  }
}
