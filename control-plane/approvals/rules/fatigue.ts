// Limits how many questions people are asked, and what is kept of them. Pure.

export interface FatigueBounds {
  readonly sessionPending: number;
  readonly sessionAsksAnHour: number;
  readonly subjectPending: number;
  /** Of all approvals that were asked for in the last 24 hours. */
  readonly subjectBytes: number;
}

export const fatigueBounds: FatigueBounds = {
  sessionPending: 10,
  sessionAsksAnHour: 30,
  subjectPending: 100,
  subjectBytes: 64 * 1_048_576,
};

/** What there is already, without the new ask. */
export type FatigueCounts = FatigueBounds;

/** Returns why no one is asked; null: the question may be asked. `bytes`: what the new approval would keep. */
export function fatigueProblem(counts: FatigueCounts, bounds: FatigueBounds, bytes: number): string | null {
  if (counts.sessionPending >= bounds.sessionPending)
    return `${counts.sessionPending} calls of this session already wait for a person, which is the maximum`;
  if (counts.sessionAsksAnHour >= bounds.sessionAsksAnHour)
    return `this session has asked ${counts.sessionAsksAnHour} times within an hour, which is the maximum`;
  if (counts.subjectPending >= bounds.subjectPending)
    return `${counts.subjectPending} calls for this subject already wait for a person, which is the maximum`;
  return counts.subjectBytes + bytes > bounds.subjectBytes
    ? `the questions for this subject within 24 hours would keep more than ${bounds.subjectBytes} bytes`
    : null;
}
