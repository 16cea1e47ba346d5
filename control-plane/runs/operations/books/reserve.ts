// Reserves the possible cost of a model call in one short transaction. It locks the user's day, the run and all runs
// above it.

import { type Account, grantOf, type WantedMoney } from '../../rules/budget.ts';
import { utcDayOf } from '../../rules/day.ts';
import type { RunRef } from '../../rules/run.ts';
import type { MoneyReservation } from '../../money.ts';
import type { RunOwner } from '../../store/runs.ts';
import { findReservation, insertReservation, lockDay, lockRuns, moveSpend, type RunBudget } from '../../store/spend.ts';
import { inTransaction } from '../../../database/transaction.ts';
import type { OperationDeps } from '../../../access/operation.ts';

export interface Request {
  readonly run: RunRef;
  readonly owner: RunOwner;
  /** How often the run was resumed before. A run that was resumed since then reserves nothing. */
  readonly generation: number;
  /**
   * The id is created before the first try. A later try uses it to find a reservation that was committed but whose
   * answer was lost.
   */
  readonly reservationId: string;
  readonly wanted: WantedMoney;
}

interface ReserveDeps extends Pick<OperationDeps, 'pool' | 'clock'> {
  /** What a user can spend in a day, in µ¢. */
  readonly dailyCap: number;
}

/** `busy`: the missing money is reserved by other calls, which may release it unspent. */
export type ReserveAttempt = MoneyReservation | { readonly kind: 'busy'; readonly bound: Account['kind'] };

export function reserve(
  { pool, clock, dailyCap }: ReserveDeps,
  { run, owner, generation, reservationId, wanted }: Request,
): Promise<ReserveAttempt> {
  const { workspaceId } = run;
  const { sub, lineage } = owner;
  return inTransaction(pool, async (client): Promise<ReserveAttempt> => {
    const made = await findReservation(client, workspaceId, reservationId);
    if (made !== null) return { kind: 'granted', reservationId, amount: made.amount, shared: made.amount < wanted.most };
    const day = { workspaceId, sub, day: utcDayOf(clock()) };
    const { settled, reserved } = await lockDay(client, day);
    const runs = await lockRuns(client, workspaceId, lineage);
    if (!allRun(runs, lineage) || runs.at(-1)?.generation !== generation) return { kind: 'ended' };
    const grant = grantOf([{ kind: 'day', cap: dailyCap, spent: settled, reserved }, ...runs.map((one) => accountOf(one, run.id))], wanted);
    if ('exhausted' in grant) return { kind: 'exhausted', bound: grant.exhausted };
    if ('busy' in grant) return { kind: 'busy', bound: grant.busy };
    await insertReservation(client, { ...day, id: reservationId, runId: run.id, amount: grant.amount });
    await moveSpend(client, day, lineage, { spent: 0, reserved: grant.amount });
    return { kind: 'granted', reservationId, ...grant };
  });
}

/** Whether the run and all runs above it are running. A run that has ended also ends all runs below it. */
const allRun = (runs: readonly RunBudget[], lineage: readonly string[]): boolean =>
  runs.length === lineage.length && runs.every(({ status }) => status === 'running');

const accountOf = ({ id, budget, spent, reserved }: RunBudget, own: string): Account => ({
  kind: id === own ? 'run' : 'ancestor',
  cap: budget,
  spent,
  reserved,
});
