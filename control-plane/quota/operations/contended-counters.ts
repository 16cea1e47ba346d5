// Remembers for a short time which sidecars have calls that wait for a counter. While the calls of one sidecar wait,
// the other sidecars get nothing of this counter in advance. This is only a hint: without it fewer calls are admitted
// in time, but never more than the limit.

/** A sidecar whose calls still wait asks again before this time. */
const rememberedMs = 500;
/** The maximum number of waiting holders that are remembered, for all counters together. */
const waitingMax = 10_000;

export class ContendedCounters {
  readonly #now: () => number;
  /** By counter: until when each waiting holder is remembered. */
  readonly #waiting = new Map<string, Map<string, number>>();
  #size = 0;

  /** `now`: ms from any start point. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** `isWaiting`: calls of the holder wait for the counter. */
  note(counter: string, holder: string, isWaiting: boolean): void {
    if (isWaiting) this.#remember(counter, holder);
    else this.#forget(counter, holder);
  }

  /** Returns how many other holders have calls that wait for the counter. */
  othersWaiting(counter: string, holder: string): number {
    const holders = this.#waiting.get(counter);
    if (holders === undefined) return 0;
    const now = this.#now();
    for (const [one, until] of holders) if (until <= now) this.#forget(counter, one);
    return holders.size - (holders.has(holder) ? 1 : 0);
  }

  #remember(counter: string, holder: string): void {
    this.#forget(counter, holder);
    if (this.#size >= waitingMax) {
      this.#waiting.clear();
      this.#size = 0;
    }
    const holders = this.#waiting.get(counter) ?? new Map<string, number>();
    this.#waiting.set(counter, holders.set(holder, this.#now() + rememberedMs));
    this.#size += 1;
  }

  #forget(counter: string, holder: string): void {
    const holders = this.#waiting.get(counter);
    if (holders?.delete(holder) !== true) return;
    this.#size -= 1;
    if (holders.size === 0) this.#waiting.delete(counter);
  }
}
