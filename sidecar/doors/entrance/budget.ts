// Limits the memory that callers can make this process keep. Sizes are estimates, in bytes, of what V8 needs. The code
// that creates an object states its size. The data that is kept for one key is a share. When the total exceeds the
// maximum, entries of the largest share are evicted, the least recently used first. A share whose entries are all in
// use is left out. So a flood from one key takes no memory from the others.

export interface Share {
  readonly bytes: number;
  /** False: all remaining entries are in use. */
  readonly canForget: boolean;
  /** Forgets the least recently used entry. */
  forgetOldest(): void;
}

/** The fraction of the maximum that is freed in addition, so that the budget is not full again immediately. */
const spare = 0.05;
/** The maximum number of evictions from one share before the code looks for the largest share again. */
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

  /** Reports that the size of a share has changed by this number of bytes. Negative: it keeps fewer bytes. */
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

/** Returns the largest share that can forget something, or null. */
function largestOf(shares: ReadonlySet<Share>): Share | null {
  let largest: Share | null = null;
  for (const share of shares) if ((largest === null || share.bytes > largest.bytes) && share.canForget) largest = share;
  return largest;
}
