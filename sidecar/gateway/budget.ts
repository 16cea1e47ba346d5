// What callers can make this process keep, in bytes: estimates of what V8 takes for it, said where each thing is made. Whoever keeps
// something for a key is a share. Where all of them have too much, the largest that can forget something forgets what it has not used
// for longest, so that a flood of one key takes room from no other.

export interface Share {
  readonly bytes: number;
  /** False: all that is left is in use. */
  readonly canForget: boolean;
  /** Forgets what was not used for longest. */
  forgetOldest(): void;
}

/** So much less is kept then, of the most, that it is not full again at once. */
const spare = 0.05;
/** In a row of one share, before the largest is looked for again. */
const atOnce = 64;

export class Budget {
  readonly #max: number;
  readonly #shares = new Set<Share>();
  #bytes = 0;
  #isMakingRoom = false;

  constructor(max: number) {
    this.#max = max;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(share: Share): void {
    this.#shares.add(share);
  }

  remove(share: Share): void {
    this.#shares.delete(share);
  }

  /** A share keeps so much more, or less. */
  changed(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#max && !this.#isMakingRoom) this.#makeRoom();
  }

  #makeRoom(): void {
    this.#isMakingRoom = true;
    const enough = this.#max * (1 - spare);
    while (this.#bytes > enough) {
      const share = largestOf(this.#shares);
      if (share === null) break;
      for (let n = 0; n < atOnce && this.#bytes > enough && share.canForget; n += 1) share.forgetOldest();
    }
    this.#isMakingRoom = false;
  }
}

/** Of those that can forget something. */
function largestOf(shares: ReadonlySet<Share>): Share | null {
  let largest: Share | null = null;
  for (const share of shares) if ((largest === null || share.bytes > largest.bytes) && share.canForget) largest = share;
  return largest;
}
