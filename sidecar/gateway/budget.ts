// What callers can make this process keep, in bytes: estimates of what V8 takes for it, said where each thing is made. Whoever keeps
// something for a key is a share. Where all of them have too much, the largest forgets what it has not used for longest, so that
// a flood of one key takes room from no other.

export interface Share {
  readonly bytes: number;
  /** Forgets what was not used for longest. False: all that is left is in use. */
  forgetOldest(): boolean;
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
    while (this.#bytes > enough && this.#forgetOf(largestOf(this.#shares), enough));
    this.#isMakingRoom = false;
  }

  #forgetOf(share: Share | null, enough: number): boolean {
    let forgot = false;
    for (let n = 0; n < atOnce && this.#bytes > enough && share?.forgetOldest() === true; n += 1) forgot = true;
    return forgot;
  }
}

function largestOf(shares: ReadonlySet<Share>): Share | null {
  let largest: Share | null = null;
  for (const share of shares) if (largest === null || share.bytes > largest.bytes) largest = share;
  return largest;
}
