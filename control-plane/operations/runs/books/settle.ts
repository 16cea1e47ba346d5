// Turns what was put aside into what was spent. Each reservation is settled once, whoever comes first.
import { spentOf } from '../../../domain/runs/budget.ts';
import type { RunRef } from '../../../domain/runs/run.ts';
import type { RunOwner } from '../../../store/runs.ts';
import { type DayRef, deleteReservation, findReservation, listReservations, lockDay, lockRuns, moveSpend } from '../../../store/spend.ts';
import { inTransaction, type Queryable } from '../../../store/transaction.ts';
import type { Deps } from '../../operation.ts';

interface Settlement {
  readonly run: RunRef;
  readonly owner: RunOwner;
  readonly reservationId: string;
  /** In µ¢; of more than was put aside, only that. */
  readonly cost: number;
}

export function settle({ pool }: Pick<Deps, 'pool'>, { run, owner, reservationId, cost }: Settlement): Promise<void> {
  return inTransaction(pool, async (client) => {
    const reservation = await findReservation(client, run.workspaceId, reservationId);
    if (reservation === null) return;
    await lockDay(client, reservation);
    await lockRuns(client, run.workspaceId, owner.lineage);
    if (!(await deleteReservation(client, run.workspaceId, reservationId))) return;
    const { amount } = reservation;
    await moveSpend(client, reservation, owner.lineage, { spent: spentOf(amount, cost), reserved: -amount });
  });
}

/** Locks a run with all that it has open, so that it can be ended. False where it has ended, or is gone. */
export async function lockToEnd(db: Queryable, { workspaceId, id }: RunRef, { lineage }: RunOwner): Promise<boolean> {
  const days = new Map<string, DayRef>((await listReservations(db, workspaceId, id)).map((one) => [one.day, one]));
  for (const day of days.values()) await lockDay(db, day);
  const runs = await lockRuns(db, workspaceId, lineage);
  return runs.some((run) => run.id === id && run.status === 'running');
}

/** Where nobody knows what a call cost, all that was put aside for it is spent. Call with the run locked. */
export async function settleAll(
  db: Queryable,
  { workspaceId, id }: RunRef,
  { lineage }: RunOwner,
  costs: ReadonlyMap<string, number> = new Map(),
): Promise<void> {
  for (const reservation of await listReservations(db, workspaceId, id)) {
    const { amount } = reservation;
    await deleteReservation(db, workspaceId, reservation.id);
    await moveSpend(db, reservation, lineage, { spent: spentOf(amount, costs.get(reservation.id) ?? amount), reserved: -amount });
  }
}
