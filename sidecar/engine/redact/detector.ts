// Defines a detector: where it begins to search, how far it searches, and what it finds.

/** Reports that `text` from `start` to `end` is what the detector searches for. */
export type MatchReporter = (start: number, end: number) => void;

export interface Detector {
  /** A built-in kind, or one of a workspace's own kinds. */
  readonly kind: string;
  /**
   * Everything that the detector finds contains one of these texts. The detector is called at each of them, in upper or
   * lower case. `digits`: it is called at each run of ASCII digits.
   */
  readonly anchors: readonly string[] | 'digits';
  /**
   * The maximum number of characters that the detector reads before and after the start of an anchor. This bounds the
   * time of the detector, and the length of the text that a stream holds back.
   */
  readonly reach: { readonly before: number; readonly after: number };
  /**
   * The maximum distance after the anchor, or after the last finding, at which more findings of the same kind may
   * follow. Present only if this distance is larger than `reach`; it is for columns of a table. In a stream, further
   * findings are searched only within the text that is held back for `reach`.
   */
  readonly follows?: number;
  /**
   * Searches around the anchor from `at` to `end`. For a run of digits, `end` is after its last digit. The time of the
   * search is linear in the detector's `reach`.
   */
  find(text: string, at: number, end: number, found: MatchReporter): void;
}

/** A finding begins at most this far before its anchor, however far a detector reads back for context. */
export const leadMax = 256;

/**
 * Reports a finding that is longer than a detector's reach, in pieces. Each piece begins within the previous one, so
 * that all pieces become one finding. A detector is not called again at an anchor inside the finding, so the finding is
 * read once.
 */
export function foundWhole(found: MatchReporter, start: number, end: number, { after }: Detector['reach']): void {
  if (end - start <= after) return found(start, end);
  const pieceLength = Math.ceil(after / 2);
  for (let at = start; at < end; at += pieceLength) found(Math.max(start, at - 1), Math.min(end, at + pieceLength));
}
