// What a detector is: where it begins to look, how far it looks, and what it then finds.

/** Says that `text` from `start` to `end` is what the detector looks for. */
export type Found = (start: number, end: number) => void;

export interface Detector {
  /** A built-in kind, or one of a workspace's own. */
  readonly kind: string;
  /**
   * Texts of which one stands in everything that the detector finds; it is asked at each of them, whatever their case.
   * `digits`: it is asked at each run of ASCII digits.
   */
  readonly anchors: readonly string[] | 'digits';
  /** How many characters from the start of an anchor it looks at, at most: a bound on time, and on what a stream holds back. */
  readonly reach: { readonly before: number; readonly after: number };
  /**
   * How far behind the anchor or its last finding it may find more of the same, if that is further than its reach: of the
   * columns of a table. In a stream only what is held back for its reach is followed.
   */
  readonly follows?: number;
  /** Looks around the anchor from `at` to `end` (a run of digits has `end` after its last). Linear in its reach. */
  find(text: string, at: number, end: number, found: Found): void;
}

/** A finding begins no further than this before its anchor, however far a detector looks back for context. */
export const leadMax = 256;

/**
 * Says what is longer than a detector's reach: piece by piece, each from within the one before, so that all of it is one.
 * Whoever asks at an anchor in it is not asked again, so it is looked through once.
 */
export function foundWhole(found: Found, start: number, end: number, { after }: Detector['reach']): void {
  if (end - start <= after) return found(start, end);
  const pieceLength = Math.ceil(after / 2);
  for (let at = start; at < end; at += pieceLength) found(Math.max(start, at - 1), Math.min(end, at + pieceLength));
}
