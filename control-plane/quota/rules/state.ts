// Defines the stored state of one counter, as its row contains it. `ledger.ts` defines what the state means.

/** Charged calls by step of one second, oldest first. A total has one entry, at step 0. */
export type Charges = readonly (readonly [step: number, count: number])[];

export interface LiveGrant {
  readonly id: number;
  readonly holder: string;
  readonly tokens: number;
  /** When the grant expires, in ms since 1970; null: never. */
  readonly untilMs: number | null;
  /** Only for a grant that never expires: the number of the ask that it answers, and the limit when it was granted. */
  readonly asked?: { readonly number: number; readonly max: number };
  /**
   * Only for a grant that never expires: when it was first recalled, and when it was recalled again a minute later or
   * more. Both in ms since 1970.
   */
  readonly recalledMs?: number;
  readonly recalledAgainMs?: number;
}

export interface CounterState {
  /** The latest time of the database that was seen, in ms since 1970. It never goes back. */
  readonly seenMs: number;
  /**
   * The id of the next grant. A settlement that names this id or a higher one is false, because that grant was never
   * made.
   */
  readonly nextGrant: number;
  readonly charges: Charges;
  readonly grants: readonly LiveGrant[];
  /**
   * For a total: the holders that have used it. At most two are stored, because two are enough to know that it is
   * shared.
   */
  readonly users: readonly string[];
  /** When the counter was first asked for, in ms since 1970; absent: an earlier version created the row. */
  readonly beganMs?: number;
}

export type CounterSettings =
  | { readonly kind: 'window'; readonly windowSeconds: number; readonly max: number }
  | { readonly kind: 'total'; readonly max: number };

/** Returns the initial state of a counter that has no row yet. */
export const freshCounter = (nowMs: number): CounterState => ({
  seenMs: Math.floor(nowMs),
  nextGrant: Math.floor(nowMs) * 1000,
  charges: [],
  grants: [],
  users: [],
  beganMs: Math.floor(nowMs),
});

export const stepOf = (ms: number): number => Math.floor(ms / 1000);

/**
 * The maximum number of charges in a row of the table. If a window has more seconds than this, several consecutive
 * steps are charged together at the last of them.
 */
const chargesMax = 256;

/**
 * Returns the step at which a call of `step` is charged. For a total it is 0. Otherwise it is the same step or a later
 * one.
 */
export function chargedStep(step: number, settings: CounterSettings): number {
  if (settings.kind === 'total') return 0;
  const grain = Math.ceil((settings.windowSeconds + 2) / chargesMax);
  return Math.floor(step / grain) * grain + grain - 1;
}

/** Returns the time, in ms since 1970, at which a charge of this step no longer counts. */
export const leaveMs = (step: number, windowSeconds: number): number => (step + windowSeconds + 1) * 1000;

export const sumOf = (charges: Charges): number => charges.reduce((sum, [, count]) => sum + count, 0);

/**
 * How long the row of a total is kept without use. A run can take a day, and its counter can be asked for during
 * another day.
 */
const totalKeptMs = 48 * 3_600_000;

/**
 * The row of a window is kept for this additional time, in ms. If the clock is set back by less than this, ids of its
 * grants are not reused.
 */
const clockErrorMs = 3_600_000;

/**
 * The remaining lifetime, in ms, of the row of a total after an hour without use. A row with less than this remaining
 * can be deleted early.
 */
export const totalSpareMs = totalKeptMs - 3_600_000;

/** Returns the time, in ms since 1970, until which the row must be kept if it is not used again. */
export function keptUntilMs({ seenMs, charges, grants }: CounterState, settings: CounterSettings): number {
  if (settings.kind === 'total') return seenMs + totalKeptMs;
  const steps = [...charges.map(([step]) => step), ...grants.map(({ untilMs }) => stepOf(untilMs ?? seenMs))];
  return Math.max(seenMs, ...steps.map((step) => leaveMs(step, settings.windowSeconds))) + clockErrorMs;
}
