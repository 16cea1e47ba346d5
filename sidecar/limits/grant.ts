// One grant of the ledger, as its holder keeps it: how many calls are left of it, until when, and when the others were made.
import { bounds, type QuotaGrant, type SettledGrant } from '@tollgate/proto/contract';

/** When calls were made is kept this exactly. */
export const bucketMs = 50;
/** The ledger's clock and ours go on at nearly one pace. */
const paceMs = 20;

export class Grant {
  readonly id: number;
  readonly tokens: number;
  /** The limit that it was granted under. */
  readonly max: number;
  /** When it may not be used any more; infinite: never. */
  readonly until: number;
  left: number;
  /** No call is said to be older than it is. */
  readonly #uses: { readonly from: number; at: number; count: number }[] = [];

  /** `sentAt`: when the ask was sent that it answers. */
  constructor({ id, tokens, max, ttlMs }: Pick<QuotaGrant, 'id' | 'tokens' | 'max' | 'ttlMs'>, sentAt: number) {
    this.id = id;
    this.tokens = tokens;
    this.max = max;
    this.left = tokens;
    this.until = ttlMs === null ? Number.POSITIVE_INFINITY : sentAt + Math.max(0, Math.min(ttlMs, bounds.leaseMs) - paceMs);
  }

  /** So many calls were made, the last of them at this time or before. */
  use(count: number, at: number): void {
    this.left -= count;
    const last = this.#uses.at(-1);
    // Nobody asks when calls of a run were made.
    if (last === undefined || (this.until !== Number.POSITIVE_INFINITY && at - last.from > bucketMs))
      this.#uses.push({ from: at, at, count });
    else {
      last.count += count;
      last.at = Math.max(last.at, at);
    }
  }

  /** Takes back one call that was made at this time. False: none is noted that could be it. */
  unuse(at: number): boolean {
    const index = this.#uses.findIndex((use) => use.at >= at);
    const use = this.#uses[index];
    if (use === undefined) return false;
    use.count -= 1;
    if (use.count === 0) this.#uses.splice(index, 1);
    this.left += 1;
    return true;
  }

  /** Counts calls that were made before it came. What is more than there is left is told all the same. */
  owe(count: number, now: number): void {
    if (count === 0) return;
    this.use(count, now);
    this.left = Math.max(0, this.left);
  }

  /** What a message that is written at `now` says of it. */
  settled(now: number): SettledGrant {
    return { grantId: this.id, used: this.#uses.map(({ at, count }) => ({ ageMs: Math.max(0, Math.floor(now - at)), count })) };
  }
}
