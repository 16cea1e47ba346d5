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
