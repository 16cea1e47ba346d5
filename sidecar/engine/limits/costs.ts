// Manages the budget of a run, `maxBudgetCents`. An amount is reserved before it is spent and settled afterwards, so
// concurrent work cannot exceed the budget. A delegated run spends from its own budget and from each budget above it.
// Amounts are stored as whole millionths of a cent, so the sum of many small amounts is exact.
import { AppError, type ReasonCode } from '@tollgate/proto/contract';
import type { Decision, StopReason } from '../decide/decision.ts';
import { microcents, type RunUsage } from './usage.ts';

/** A reservation, to be settled once with the actual cost. */
export interface CostReservation {
  readonly allowed: true;
  readonly cents: number;
}

/** Nothing was reserved, and nothing may be spent. */
export interface CostDenial {
  readonly allowed: false;
  readonly code: ReasonCode;
  /** A text that a model or a person can act on. */
  readonly reason: string;
  /**
   * The reason why the run has ended. Null: the run has not ended, and a later attempt may succeed, for example when
   * other reservations are settled.
   */
  readonly stopped: StopReason | null;
}

export type CostVerdict = CostReservation | CostDenial;

/** The budget of one run. */
export interface Purse {
  readonly usage: Pick<RunUsage, 'spentCents' | 'addCost' | 'end'>;
  /** Returns the cap in cents. Null: there is no cap. */
  readonly cap: () => number | null;
  /** The budget of the run that delegated to this one. Null: there is no such run. */
  readonly above: Purse | null;
  /** The sum of the open reservations, in millionths of a cent. */
  held: number;
}

export interface Costs {
  /** Reserves `cents`. If less is available, reserves the available amount, but only if it is at least `least`. */
  reserve(cents: number, least: number): CostVerdict;
  /** Counts `cents` as spent and ends the reservation. */
  settle(reservation: CostReservation, cents: number): void;
}

/** Creates the costs of a run. `barred` returns the denial if the run may do nothing at the moment, otherwise null. */
export function createCosts(purse: Purse, barred: () => Decision | null): Costs {
  const open = new Set<CostReservation>();
  return {
    reserve: (cents, least) => {
      const verdict = reserveIn(purse, barred, { cents, least, what: 'reserveCost' });
      if (verdict.allowed) open.add(verdict);
      return verdict;
    },
    settle: (reservation, cents) => {
      const spent = amountOf('settleCost', cents);
      if (!open.delete(reservation)) throw wrong('settleCost needs a reservation of this run that is not settled yet');
      settleIn(purse, reservation.cents, spent / microcents);
    },
  };
}

interface AskedCost {
  readonly cents: number;
  readonly least: number;
  /** What asks, for the message of an error. */
  readonly what: string;
}

/** Reserves an amount in a budget and in each budget above it. `barred` as in `createCosts`. */
export function reserveIn(purse: Purse, barred: () => Decision | null, { cents, least, what }: AskedCost): CostVerdict {
  const most = amountOf(what, cents);
  const wanted = Math.min(most, amountOf(`least of ${what}`, least));
  const bar = barred();
  if (bar !== null) return { allowed: false, code: bar.code, reason: bar.reason, stopped: null };
  const purses = purseAndAbove(purse);
  const amount = Math.min(most, ...purses.map(freeIn));
  if (amount < wanted) return shortOf(purses, wanted);
  for (const one of purses) one.held += amount;
  return Object.freeze({ allowed: true, cents: amount / microcents });
}

/** Ends a reservation of `reserved` cents, and counts `spent` cents, in a budget and in each budget above it. */
export function settleIn(purse: Purse, reserved: number, spent: number): void {
  for (const one of purseAndAbove(purse)) {
    one.held -= amountOf('a reservation', reserved);
    one.usage.addCost(spent);
  }
}

const purseAndAbove = (purse: Purse): readonly Purse[] => (purse.above === null ? [purse] : [purse, ...purseAndAbove(purse.above)]);

const unspentIn = ({ cap, usage }: Purse): number => {
  const cents = cap();
  return cents === null ? Number.POSITIVE_INFINITY : Math.max(0, amountOf('maxBudgetCents', cents) - amountOf('spent', usage.spentCents));
};

const freeIn = (purse: Purse): number => Math.max(0, unspentIn(purse) - purse.held);

/**
 * Returns the denial for an amount that does not fit. If the missing amount was already spent, by this run or by a run
 * above it, the run ends. If it is only reserved, it may become available again.
 */
function shortOf(purses: readonly Purse[], wanted: number): CostDenial {
  const isSpent = purses.some((one) => unspentIn(one) < wanted);
  const leftIn = isSpent ? unspentIn : freeIn;
  const [tightest] = purses.toSorted((a, b) => leftIn(a) - leftIn(b));
  if (tightest === undefined) throw new Error('purseAndAbove must return at least one budget, the budget of the run itself');
  if (isSpent) purses[0]?.usage.end('max_budget');
  const left = `${leftIn(tightest) / microcents} of ${tightest.cap() ?? 0} are left`;
  const of = tightest === purses[0] ? '' : ' to the run above';
  const held = isSpent ? '' : ', until the reserved money is settled';
  return {
    allowed: false,
    code: 'cap_budget',
    reason: `cap_budget: ${wanted / microcents} cents do not fit: ${left}${of} (maxBudgetCents)${held}`,
    stopped: isSpent ? 'max_budget' : null,
  };
}

/** The largest amount, in cents. */
export const centsMax = 1_000_000_000;

/** Whether an amount can be reserved or settled. */
export const isCents = (cents: unknown): cents is number => typeof cents === 'number' && cents >= 0 && cents <= centsMax;

/**
 * Converts cents to whole millionths of a cent. A finer amount is rounded up, but a small error of binary fractions is
 * ignored.
 */
function amountOf(what: string, cents: number): number {
  if (!isCents(cents)) throw wrong(`${what} takes cents, from 0 to ${centsMax}`);
  const exact = cents * microcents;
  const whole = Math.round(exact);
  return Math.abs(exact - whole) < 1e-3 ? whole : Math.ceil(exact);
}

const wrong = (publicMessage: string): AppError => new AppError({ code: 'bad_request', publicMessage });
