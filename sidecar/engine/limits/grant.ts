// Keeps one grant of the ledger in the process that holds it: how many calls are left, until when the grant is valid,
// and when the used calls were made.
import { bounds, type QuotaGrant, type SettledGrant } from '@tollgate/proto/contract';

/** The precision with which the times of calls are kept. */
export const bucketMs = 50;
/** Margin for the difference in speed between the ledger's clock and the clock of this process. */
const paceMs = 20;

export class Grant {
  readonly id: number;
  readonly tokens: number;
  /** The value of the limit when the ledger made the grant. */
  readonly max: number;
  /** The time after which the grant must not be used. Infinite: it does not expire. */
  readonly until: number;
  left: number;
  /** For a run: what the file of the used calls says about this grant. Only the writer of the file uses it. */
  kept: { readonly file: object; readonly record: number; used: number } | null = null;
  /** The calls that were made, grouped by time. The recorded time `at` is never earlier than the calls. */
  #uses: { readonly from: number; at: number; count: number }[] = [];

  /** `sentAt`: when the request was sent that this grant answers. */
  constructor({ id, tokens, max, ttlMs }: Pick<QuotaGrant, 'id' | 'tokens' | 'max' | 'ttlMs'>, sentAt: number) {
    this.id = id;
    this.tokens = tokens;
    this.max = max;
    this.left = tokens;
    this.until = ttlMs === null ? Number.POSITIVE_INFINITY : sentAt + Math.max(0, Math.min(ttlMs, bounds.leaseMs) - paceMs);
  }

  /** The number of calls that were made. It may be larger than `tokens` (`owe`). */
  get used(): number {
    let used = 0;
    for (const { count } of this.#uses) used += count;
    return used;
  }

  /** Records `count` calls. The last of them was made at `at` or before. */
  use(count: number, at: number): void {
    this.left -= count;
    const last = this.#uses.at(-1);
    // The times of calls of a run are not needed, so all its calls share one item of the list.
    if (last === undefined || (this.until !== Number.POSITIVE_INFINITY && at - last.from > bucketMs))
      this.#uses = this.#uses.concat({ from: at, at, count });
    else {
      last.count += count;
      last.at = Math.max(last.at, at);
    }
  }

  /** Takes back one call that was made at this time. Returns false if no recorded call matches. */
  unuse(at: number): boolean {
    const index = this.#uses.findIndex((use) => use.at >= at);
    const use = this.#uses[index];
    if (use === undefined) return false;
    use.count -= 1;
    if (use.count === 0) this.#uses.splice(index, 1);
    this.left += 1;
    return true;
  }

  /**
   * Counts calls that were made before the grant arrived. If there are more than the grant has left, all of them are
   * still reported.
   */
  owe(count: number, now: number): void {
    if (count === 0) return;
    this.use(count, now);
    this.left = Math.max(0, this.left);
  }

  /** Returns the report about the grant, for a message that is written at `now`. */
  settled(now: number): SettledGrant {
    return { grantId: this.id, used: this.#uses.map(({ at, count }) => ({ ageMs: Math.max(0, Math.floor(now - at)), count })) };
  }
}
