// The stored state of one counter, as in its row. `ledger.ts` defines its meaning.

/** Charged calls by step of one second, oldest first. A total has one entry, at step 0. */
export type Charges = readonly (readonly [step: number, count: number])[];

export interface LiveGrant {
  readonly id: number;
  readonly holder: string;
  readonly tokens: number;
  /** When it expires; null: never. */
  readonly untilMs: number | null;
  /** For a grant that never expires: the number of the ask that it answers, and the limit at that time. */
  readonly asked?: { readonly number: number; readonly max: number };
}

export interface CounterState {
  /** The latest time that was seen. It never goes back. */
  readonly seenMs: number;
  /** The id of the next grant. A settlement of this or a later id is false. */
  readonly nextGrant: number;
  readonly charges: Charges;
  readonly grants: readonly LiveGrant[];
  /** For a total: the holders that have charged it. Two names are enough, so no more are stored. */
  readonly users: readonly string[];
  /** When it was first asked for; absent: an earlier version created the row. */
  readonly beganMs?: number;
}

export type CounterSettings =
  | { readonly kind: 'window'; readonly windowSeconds: number; readonly max: number }
  | { readonly kind: 'total'; readonly max: number };

/** The state of a counter without a row. */
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
 * The maximum number of charges in a row. In windows of more seconds than that, several steps are charged as the last
 * of them.
 */
const chargesMax = 256;

/** The step to which a call at `step` is charged: the same step or a later one. */
export function chargedStep(step: number, settings: CounterSettings): number {
  if (settings.kind === 'total') return 0;
  const grain = Math.ceil((settings.windowSeconds + 2) / chargesMax);
  return Math.floor(step / grain) * grain + grain - 1;
}

/** When a charge of this step no longer counts. */
export const leaveMs = (step: number, windowSeconds: number): number => (step + windowSeconds + 1) * 1000;

export const sumOf = (charges: Charges): number => charges.reduce((sum, [, count]) => sum + count, 0);

/** A run can take a day, and can be asked for during another day. */
const totalKeptMs = 48 * 3_600_000;

/**
 * A row is kept for this additional time. If the clock is set back by less than this, ids of its grants are not reused.
 */
const clockErrorMs = 3_600_000;

/**
 * The lifetime in ms that the row of a total still has after an hour without use. A row with less left can be deleted
 * earlier.
 */
export const totalSpareMs = totalKeptMs - 3_600_000;

/** Until when its row must be kept if it is not used before. */
export function keptUntilMs({ seenMs, charges, grants }: CounterState, settings: CounterSettings): number {
  if (settings.kind === 'total') return seenMs + totalKeptMs;
  const steps = [...charges.map(([step]) => step), ...grants.map(({ untilMs }) => stepOf(untilMs ?? seenMs))];
  return Math.max(seenMs, ...steps.map((step) => leaveMs(step, settings.windowSeconds))) + clockErrorMs;
}
