// Limits the memory that callers can make this process keep. Sizes are in bytes: estimates of what V8 needs, given
// where each object is made. The data kept for one key is a share. When the total exceeds the maximum, the largest
// share that can forget something evicts its least recently used entries. So a flood from one key takes no memory from
// the others.

export interface Share {
  readonly bytes: number;
  /** False: everything left is in use. */
  readonly canForget: boolean;
  /** Forgets the least recently used entry. */
  forgetOldest(): void;
}

/** Fraction of the maximum that is freed in addition, so the budget is not full again immediately. */
const spare = 0.05;
/** Evictions from one share before the largest share is searched again. */
const atOnce = 64;

export class Budget {
  readonly #max: number;
  readonly #shares = new Set<Share>();
  #bytes = 0;
  #isFreeing = false;

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

  /** Reports that a share keeps this many more bytes (negative: fewer). */
  changed(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#max && !this.#isFreeing) this.#freeMemory();
  }

  #freeMemory(): void {
    this.#isFreeing = true;
    const enough = this.#max * (1 - spare);
    while (this.#bytes > enough) {
      const share = largestOf(this.#shares);
      if (share === null) break;
      for (let n = 0; n < atOnce && this.#bytes > enough && share.canForget; n += 1) share.forgetOldest();
    }
    this.#isFreeing = false;
  }
}

/** The largest share that can forget something, or null. */
function largestOf(shares: ReadonlySet<Share>): Share | null {
  let largest: Share | null = null;
  for (const share of shares) if ((largest === null || share.bytes > largest.bytes) && share.canForget) largest = share;
  return largest;
}
