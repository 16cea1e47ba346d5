// Limits the work for one call. Work is counted in units and not measured as time, so that equal inputs are redacted
// equally on any machine.

/** The cost, in units, of a place at which a detector is called. Reading one character costs one unit. */
export const candidateCost = 8;

/** The limit for one call: 8 MiB of plain text in JSON, searched twice, or four million candidate places. */
export const workMax = 33_554_432;

export interface Work {
  /** Throws `OverBudget` if no work is left. */
  spend(units: number): void;
}

/** Thrown if a value needs more work than one call may use. */
export class OverBudget extends Error {
  override readonly name = 'OverBudget';
}

export function createWork(): Work {
  let left = workMax;
  return {
    spend: (units) => {
      left -= units;
      if (left < 0) throw new OverBudget('the redaction of the value needs more work than is allowed for one call');
    },
  };
}
