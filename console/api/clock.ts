// The time of the control plane. Questions expire by its clock, and the clock of a browser may be wrong by hours.

/** The header `Date` has whole seconds, so that a smaller difference is not known. */
const knownMs = 2_000;
let aheadMs = 0;

/** `date`: the header of an answer that has just arrived. */
export function noteServerTime(date: string | null): void {
  const at = date === null ? Number.NaN : Date.parse(date);
  if (Number.isNaN(at)) return;
  const ahead = at - Date.now();
  aheadMs = Math.abs(ahead) <= knownMs ? 0 : ahead;
}

export const serverNow = (): number => Date.now() + aheadMs;
