// Estimates how old the oldest unacknowledged record is, from marks that are set at intervals: records in the spool
// have no time of their own. The age is never too low. It is too high by at most the time between two marks.

export interface Ages {
  /** Notes that the record `sequence` was appended at `at`. */
  mark(sequence: number, at: number): void;
  acknowledge(sequence: number): void;
  /** Returns the time at which the first unacknowledged record was appended, or an earlier time. */
  oldestAt(): number | undefined;
}

/** When this many marks exist, no more are set, which makes the answer less precise. */
const marksMax = 256;

export function createAges(): Ages {
  const marks: { readonly sequence: number; readonly at: number }[] = [];
  let acknowledged = 0;

  function trim(): void {
    for (let next = marks[1]; next && next.sequence <= acknowledged + 1; next = marks[1]) marks.shift();
  }

  return {
    mark(sequence, at) {
      if (marks.length < marksMax) marks.push({ sequence, at });
      trim();
    },
    acknowledge(sequence) {
      acknowledged = sequence;
      trim();
    },
    oldestAt: () => marks[0]?.at,
  };
}
