// Bounds what calls that wait for a person hold: their number, their bytes, and their number for each key.

interface HeldBounds {
  readonly calls: number;
  readonly bytes: number;
  readonly callsOfKey: number;
}

/** The bounds of calls that wait for the answer of a person. */
export const heldBounds: HeldBounds = { calls: 1_000, bytes: 16 * 1_048_576, callsOfKey: 20 };
/** The bounds of calls that wait for the control plane to note the question. They wait at most `answerMs`. */
export const askingBounds: HeldBounds = { calls: 1_000, bytes: 16 * 1_048_576, callsOfKey: 100 };
/** The bounds of reads that the control plane has not answered. They wait at most `answerMs`. */
export const readingBounds: HeldBounds = { calls: 200, bytes: 0, callsOfKey: 20 };

export class HeldCalls {
  calls = 0;
  bytes = 0;
  readonly #max: HeldBounds;
  readonly #ofKey = new Map<string, number>();

  constructor(max: HeldBounds) {
    this.#max = max;
  }

  /** Returns a function that gives the place back, or null if there is none. The function may be called again. */
  take(keyId: string, bytes: number): (() => void) | null {
    const ofKey = this.#ofKey.get(keyId) ?? 0;
    const { calls, bytes: bytesMax, callsOfKey } = this.#max;
    if (this.calls >= calls || this.bytes + bytes > bytesMax || ofKey >= callsOfKey) return null;
    this.calls += 1;
    this.bytes += bytes;
    this.#ofKey.set(keyId, ofKey + 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.calls -= 1;
      this.bytes -= bytes;
      const rest = (this.#ofKey.get(keyId) ?? 1) - 1;
      if (rest === 0) this.#ofKey.delete(keyId);
      else this.#ofKey.set(keyId, rest);
    };
  }
}
