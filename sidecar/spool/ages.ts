// How old the oldest unacknowledged record is, from marks set now and then: in the spool a record has no time of
// its own. Never too young; too old by at most the time between two marks.

export interface Ages {
  /** The record `sequence` was appended at `at`. */
  mark(sequence: number, at: number): void;
  acknowledge(sequence: number): void;
  /** When the record after the acknowledged ones was appended, or before. */
  oldestAt(): number | undefined;
}

/** Beyond it no mark is set, which makes the answer coarser. */
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
