// What is kept of one counter, as it stands in its row. `ledger.ts` says what it means.

/** Calls charged, by step of one second, oldest first; of a total one entry, of step 0. */
export type Charges = readonly (readonly [step: number, count: number])[];

export interface LiveGrant {
  readonly id: number;
  readonly holder: string;
  readonly tokens: number;
  /** When it ends by itself; null: never. */
  readonly untilMs: number | null;
  /** Of one that never does: the number of the ask that it answers, and the limit of that moment. */
  readonly asked?: { readonly number: number; readonly max: number };
}

export interface CounterState {
  /** The latest time that was seen: it never goes back. */
  readonly seenMs: number;
  /** The id of the next grant. Whoever settles this one or a later one lies. */
  readonly nextGrant: number;
  readonly charges: Charges;
  readonly grants: readonly LiveGrant[];
  /** Of a total: who has charged it; two names say as much as all would. */
  readonly users: readonly string[];
  /** When it was first asked for; absent: a version before this one made the row. */
  readonly beganMs?: number;
}

export type CounterSettings =
  | { readonly kind: 'window'; readonly windowSeconds: number; readonly max: number }
  | { readonly kind: 'total'; readonly max: number };

/** Of a counter without a row. */
export const freshCounter = (nowMs: number): CounterState => ({
  seenMs: Math.floor(nowMs),
  nextGrant: Math.floor(nowMs) * 1000,
  charges: [],
  grants: [],
  users: [],
  beganMs: Math.floor(nowMs),
});

export const stepOf = (ms: number): number => Math.floor(ms / 1000);

/** A row holds at most so many charges: in windows longer than that, in s, several steps are charged as the last of them. */
const chargesMax = 256;

/** The step that a call of `step` is charged to: the same one, or a later one. */
export function chargedStep(step: number, settings: CounterSettings): number {
  if (settings.kind === 'total') return 0;
  const grain = Math.ceil((settings.windowSeconds + 2) / chargesMax);
  return Math.floor(step / grain) * grain + grain - 1;
}

/** When a charge of this step counts no more. */
export const leaveMs = (step: number, windowSeconds: number): number => (step + windowSeconds + 1) * 1000;

export const sumOf = (charges: Charges): number => charges.reduce((sum, [, count]) => sum + count, 0);

/** A run may go on for a day, and is asked after for another. */
const totalKeptMs = 48 * 3_600_000;

/** A row is kept so much longer than it counts: a clock that is set back by less makes no id of its grants come again. */
const clockErrorMs = 3_600_000;

/** A total that has not been touched for an hour is kept for so long at least: how many ms before its row goes by itself. */
export const totalSpareMs = totalKeptMs - 3_600_000;

/** Until when its row must be kept, if nobody touches it until then. */
export function keptUntilMs({ seenMs, charges, grants }: CounterState, settings: CounterSettings): number {
  if (settings.kind === 'total') return seenMs + totalKeptMs;
  const steps = [...charges.map(([step]) => step), ...grants.map(({ untilMs }) => stepOf(untilMs ?? seenMs))];
  return Math.max(seenMs, ...steps.map((step) => leaveMs(step, settings.windowSeconds))) + clockErrorMs;
}
