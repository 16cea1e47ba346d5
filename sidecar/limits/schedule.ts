// What is to be looked at again at a time of its own, in steps of `stepMs`: putting, removing and taking cost the same however much there is.

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

  /** Of the time that it was put for. */
  remove(item: T, at: number): void {
    const step = this.#stepOf(at);
    const items = this.#steps.get(step);
    if (items?.delete(item) === true && items.size === 0) this.#steps.delete(step);
  }

  /** All whose time has come, once. */
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
