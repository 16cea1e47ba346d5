// How much may be done for one call. Counted and not timed, so that equal inputs are redacted equally on any machine.

/** A character looked at is one; a place at which a detector is asked is this many. */
export const candidateCost = 8;

/** For one call: 8 MiB of plain text in JSON, looked at twice, or four million places that look like something. */
export const workMax = 33_554_432;

export interface Work {
  /** Throws `OverBudget` when there is none left. */
  spend(units: number): void;
}

/** More would have to be done for a value than one call may ask for. */
export class OverBudget extends Error {
  override readonly name = 'OverBudget';
}

export function createWork(): Work {
  let left = workMax;
  return {
    spend: (units) => {
      left -= units;
      if (left < 0) throw new OverBudget('the value takes more work than one call may');
    },
  };
}
