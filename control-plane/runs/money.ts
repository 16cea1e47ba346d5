// Defines the interface between the loop and money: an amount is reserved before a model call and settled after it.
// Amounts are integers in µ¢, a millionth of a cent (`runs/rules/money.ts`).
import type { Account, WantedMoney } from './rules/budget.ts';
import type { RunRef } from './rules/run.ts';

export type MoneyReservation =
  /**
   * `amount` is at least `least` and at most `most`, and no other run can spend it. `shared`: the amount is less than
   * `most`, and the only reason is that other runs have reserved the missing part.
   */
  | { readonly kind: 'granted'; readonly reservationId: string; readonly amount: number; readonly shared: boolean }
  /** `bound` is the bound that has too little money left. If there are several, it is the widest. */
  | { readonly kind: 'exhausted'; readonly bound: Account['kind'] }
  /**
   * The run is no longer active: another control plane assumed that this control plane was dead, or the workspace was
   * removed.
   */
  | { readonly kind: 'ended' };

export interface Money {
  /**
   * Reserves at most `most`. Reserves nothing if less than `least` remains. If less than `enough` is free only because
   * other runs have reserved the missing part, waits for a while. It is also called for free models. Rejects with the
   * signal's reason as soon as the signal is aborted; then nothing stays reserved.
   */
  reserve(run: RunRef, wanted: WantedMoney, signal?: AbortSignal): Promise<MoneyReservation>;
  /**
   * Releases the unspent part of the reservation. The spent amount never exceeds the granted amount. A second call
   * changes nothing. It also resolves if the database does not answer, or if the signal is aborted first. In these
   * cases the end of the run settles the amount.
   */
  settle(run: RunRef, reservationId: string, spent: number, signal?: AbortSignal): Promise<void>;
}
