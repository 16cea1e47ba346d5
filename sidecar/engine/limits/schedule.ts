// Keeps items that must be checked again, each at a time of its own, in steps of `stepMs`. The cost of put, remove and
// take does not depend on the number of items.

export class Schedule<T> {
  readonly #stepMs: number;
  readonly #steps = new Map<number, Set<T>>();

  constructor(stepMs: number) {
    this.#stepMs = stepMs;
  }

  put(item: T, at: number): void {
    const step = this.#stepOf(at);
    const items = this.#steps.get(step);
    if (items === undefined) this.#steps.set(step, new Set([item]));
    else items.add(item);
  }

  /** `at`: the time that was passed to `put` for this item. */
  remove(item: T, at: number): void {
    const step = this.#stepOf(at);
    const items = this.#steps.get(step);
    if (items?.delete(item) === true && items.size === 0) this.#steps.delete(step);
  }

  /** Removes and returns the items whose time has been reached. */
  take(now: number): readonly T[] {
    const due: T[] = [];
    for (const [step, items] of this.#steps) {
      if (step * this.#stepMs > now) continue;
      this.#steps.delete(step);
      for (const item of items) due.push(item);
    }
    return due;
  }

  #stepOf(at: number): number {
    return Math.ceil(at / this.#stepMs);
  }
}
