// Manages a memory budget in bytes that several owners share, such as the keys of a process. After each call of `take`,
// the free part of the budget must be at least as large as everything that this owner holds. So one owner that takes
// very much is limited, and space remains for the next owners.

export class FairMemory<Owner> {
  readonly #max: number;
  readonly #owned = new Map<Owner, number>();
  #taken = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Returns whether this owner can take `bytes` more. */
  has(owner: Owner, bytes: number): boolean {
    return (this.#owned.get(owner) ?? 0) + bytes <= this.#max - this.#taken - bytes;
  }

  owns(owner: Owner): boolean {
    return this.#owned.has(owner);
  }

  /** Takes bytes for the owner. Returns false, and takes nothing, if there is no space. */
  take(owner: Owner, bytes: number): boolean {
    if (!this.has(owner, bytes)) return false;
    this.#add(owner, bytes);
    return true;
  }

  /**
   * Takes an amount that may be larger than an owner's share, or than the whole budget. Returns false, and takes
   * nothing, if more than `besides` bytes are already taken.
   */
  takeAlone(owner: Owner, bytes: number, besides: number): boolean {
    if (this.#taken > besides) return false;
    this.#add(owner, bytes);
    return true;
  }

  #add(owner: Owner, bytes: number): void {
    this.#owned.set(owner, (this.#owned.get(owner) ?? 0) + bytes);
    this.#taken += bytes;
  }

  give(owner: Owner, bytes: number): void {
    const own = (this.#owned.get(owner) ?? 0) - bytes;
    if (own > 0) this.#owned.set(owner, own);
    else this.#owned.delete(owner);
    this.#taken -= bytes;
  }
}
