// The interface between the loop and money: an amount is reserved before a model call and settled after it. Amounts are
// µ¢, integers of a millionth of a cent (`runs/rules/money.ts`).
import type { Account, WantedMoney } from './rules/budget.ts';
import type { RunRef } from './rules/run.ts';

export type MoneyReservation =
  /**
   * `amount` is from `least` to `most`, and no other run can spend it. `shared`: the amount is less than `most` because
   * other runs have reserved the missing part, and not because no more money exists.
   */
  | { readonly kind: 'granted'; readonly reservationId: string; readonly amount: number; readonly shared: boolean }
  /** `bound` has too little left. If several have, it is the widest. */
  | { readonly kind: 'exhausted'; readonly bound: Account['kind'] }
  /**
   * The run is no longer active: another control plane took this control plane for dead, or the workspace was removed.
   */
  | { readonly kind: 'ended' };

export interface Money {
  /**
   * Grants at most `most`, and nothing if less than `least` remains. If other runs have only reserved the part that is
   * missing to `enough`, it waits for a while. Also for free models. Rejects with the signal's reason as soon as the
   * signal is aborted; then nothing stays reserved.
   */
  reserve(run: RunRef, wanted: WantedMoney, signal?: AbortSignal): Promise<MoneyReservation>;
  /**
   * Releases the unspent part of the reservation. The spent amount never exceeds the granted amount. A second call
   * changes nothing. Also resolves when the database does not answer or when the signal is aborted first: the end of
   * the run settles the amount.
   */
  settle(run: RunRef, reservationId: string, spent: number, signal?: AbortSignal): Promise<void>;
}
