// A map for the many places that hold one entry almost always. The first entry is stored in the object itself, because
// an empty `Map` of V8 takes 230 bytes. The second entry makes a `Map`. Order: as in a `Map`, oldest first.

export class SmallMap<V> {
  #key = '';
  /** The only value. Undefined: there is none, or all values are in `#more`. */
  #only: V | undefined = undefined;
  #more: Map<string, V> | null = null;

  get size(): number {
    return this.#more === null ? Number(this.#only !== undefined) : this.#more.size;
  }

  get(key: string): V | undefined {
    if (this.#more !== null) return this.#more.get(key);
    return this.#key === key ? this.#only : undefined;
  }

  set(key: string, value: V & {}): void {
    if (this.#more !== null) this.#more.set(key, value);
    else if (this.#only === undefined || this.#key === key) {
      this.#key = key;
      this.#only = value;
    } else {
      this.#more = new Map([
        [this.#key, this.#only],
        [key, value],
      ]);
      this.#only = undefined;
      this.#key = '';
    }
  }

  delete(key: string): void {
    if (this.#more !== null) {
      this.#more.delete(key);
      if (this.#more.size === 0) this.#more = null;
    } else if (this.#key === key) {
      this.#only = undefined;
      this.#key = '';
    }
  }

  /** The entries of now: the map may be changed meanwhile. */
  entries(): readonly (readonly [string, V])[] {
    if (this.#more !== null) return [...this.#more];
    return this.#only === undefined ? [] : [[this.#key, this.#only]];
  }

  /** The key that was set first. */
  get oldest(): string | undefined {
    if (this.#more !== null) return this.#more.keys().next().value;
    return this.#only === undefined ? undefined : this.#key;
  }
}
