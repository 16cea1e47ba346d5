// Room in bytes that several owners share, such as the keys of a process: one may take as much as it leaves to all others. So a flood of one
// finds its end, and leaves room for whoever comes next.

export class FairRoom<Owner> {
  readonly #max: number;
  readonly #owned = new Map<Owner, number>();
  #taken = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** For so much more of this owner. */
  has(owner: Owner, bytes: number): boolean {
    return (this.#owned.get(owner) ?? 0) + bytes <= this.#max - this.#taken - bytes;
  }

  owns(owner: Owner): boolean {
    return this.#owned.has(owner);
  }

  /** False: there is no room, and nothing is taken. */
  take(owner: Owner, bytes: number): boolean {
    if (!this.has(owner, bytes)) return false;
    this.#add(owner, bytes);
    return true;
  }

  /** The same of what may be larger than a part, or than the room: it finds room where no more than `besides` is taken. */
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
