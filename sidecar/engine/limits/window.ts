// Counts calls in steps of one second. A call made in step `c` is charged through step `c + seconds`. Thus no window of
// `seconds` seconds, wherever it begins, holds more calls than the limit.
//
// States: `head` is the newest step seen, and `current` is the count of that step. `counts` is a ring of the last
// `seconds + 1` steps. The step `head` has a place in the ring, but its count is not written there yet. `total` is the
// sum of all counts. When `head` moves forward, the count of the old `head` is written into the ring, and the steps
// that left the window are cleared. Therefore further calls in the same step write only to this object, and not to the
// ring. A call in a step before `head` is counted in `head`.

/** Returns the step of a time in ms. */
export const stepOf = (now: number): number => Math.floor(now / 1000);

export type Charges = readonly (readonly [step: number, count: number])[];

export class Window {
  readonly #counts: Uint32Array;
  #head = -1;
  #current = 0;
  #total = 0;

  /** `charged`: the counts of an earlier window with another length. */
  constructor(seconds: number, charged: Charges = []) {
    this.#counts = new Uint32Array(seconds + 1);
    for (const [step, count] of charged) this.add(step, count);
  }

  /** Returns the number of calls that are charged at this step: all calls in the window that ends there. */
  used(step: number): number {
    if (step > this.#head) this.#advance(step);
    return this.#total;
  }

  add(step: number, count = 1): void {
    if (step > this.#head) this.#advance(step);
    this.#current += count;
    this.#total += count;
  }

  /** Takes back one call that was added in this step. A call that has already left the window is not removed. */
  remove(step: number): void {
    if (step > this.#head) this.#advance(step);
    if (step < this.#first || this.#countOf(step) === 0) return;
    if (step === this.#head) this.#current -= 1;
    else this.#counts[step % this.#counts.length] = this.#countOf(step) - 1;
    this.#total -= 1;
  }

  /** Returns the ms from `now` until fewer than `max` calls are charged. Null: no wait helps. */
  waitFor(max: number, now: number): number | null {
    if (max === 0) return null;
    let charged = this.used(stepOf(now));
    if (charged < max) return 0;
    // Each call in a full window runs this loop, and a window may be a day long. Therefore nothing is allocated.
    for (let step = this.#first; step <= this.#head; step++) {
      charged -= this.#countOf(step);
      if (charged < max) return Math.max(0, (step + this.#counts.length) * 1000 - now);
    }
    return 0;
  }

  /** Returns the charged counts by step, oldest first. */
  charges(): Charges {
    const charged: (readonly [number, number])[] = [];
    for (let step = this.#first; step <= this.#head; step++) {
      const count = this.#countOf(step);
      if (count > 0) charged.push([step, count]);
    }
    return charged;
  }

  get #first(): number {
    return Math.max(0, this.#head - this.#counts.length + 1);
  }

  #countOf(step: number): number {
    return step === this.#head ? this.#current : (this.#counts[step % this.#counts.length] ?? 0);
  }

  #advance(step: number): void {
    const ring = this.#counts.length;
    if (this.#total > 0) {
      if (step - this.#head >= ring) {
        this.#counts.fill(0);
        this.#total = 0;
      } else {
        this.#counts[this.#head % ring] = this.#current;
        for (let at = this.#head + 1; at <= step; at++) {
          this.#total -= this.#counts[at % ring] ?? 0;
          this.#counts[at % ring] = 0;
        }
      }
    }
    this.#current = 0;
    this.#head = step;
  }
}
