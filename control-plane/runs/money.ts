// What money is to the loop: put aside before a model call, settled after it. Amounts are µ¢, integers of a millionth of
// a cent (domain/runs/money.ts).
import type { Account, Wanted } from '../domain/runs/budget.ts';
import type { RunRef } from '../domain/runs/run.ts';

export type Reserved =
  /**
   * From `least` to `most`; nobody else can spend it. `shared`: it is less than `most` because others have put aside what is missing, and not
   * because that is all there is.
   */
  | { readonly kind: 'granted'; readonly reservationId: string; readonly amount: number; readonly shared: boolean }
  /** `bound` has too little left; of several the widest. */
  | { readonly kind: 'exhausted'; readonly bound: Account['kind'] }
  /** It is not running any more: another control plane took this one for dead, or its workspace is gone. */
  | { readonly kind: 'ended' };

export interface Money {
  /**
   * Grants at most `most`, and nothing where less than `least` remains; waits a while where others have only put aside what is
   * missing to `enough`. Also for free models. Rejects with the signal's reason as soon as it is aborted: then nothing stays put aside.
   */
  reserve(run: RunRef, wanted: Wanted, signal?: AbortSignal): Promise<Reserved>;
  /**
   * Gives back what was not spent; never more is spent than was granted. Once: a second time changes nothing. Resolves too where
   * the database does not answer, or the signal is aborted first: the end of the run settles it.
   */
  settle(run: RunRef, reservationId: string, spent: number, signal?: AbortSignal): Promise<void>;
}
