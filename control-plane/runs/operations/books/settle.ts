// Converts a reservation into spending. Each reservation is settled only once, by the first process that does it.
import { spentOf } from '../../rules/budget.ts';
import type { RunRef } from '../../rules/run.ts';
import type { RunOwner } from '../../store/runs.ts';
import { type DayRef, deleteReservation, findReservation, listReservations, lockDay, lockRuns, moveSpend } from '../../store/spend.ts';
import { inTransaction, type Queryable } from '../../../database/transaction.ts';
import type { OperationDeps } from '../../../access/operation.ts';

interface Settlement {
  readonly run: RunRef;
  readonly owner: RunOwner;
  readonly reservationId: string;
  /** In µ¢. If it is more than the reservation, only the reserved amount counts. */
  readonly cost: number;
}

export function settle({ pool }: Pick<OperationDeps, 'pool'>, { run, owner, reservationId, cost }: Settlement): Promise<void> {
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

/**
 * Locks a run, the runs above it, and the days of its open reservations, so that the run can be ended, or wait. Returns false
 * if the run has ended, waits, no longer exists, or was resumed since `generation`. Null: any generation.
 */
export async function lockToEnd(
  db: Queryable,
  { workspaceId, id }: RunRef,
  { lineage }: RunOwner,
  generation: number | null,
): Promise<boolean> {
  const days = new Map<string, DayRef>((await listReservations(db, workspaceId, id)).map((one) => [one.day, one]));
  for (const day of days.values()) await lockDay(db, day);
  const runs = await lockRuns(db, workspaceId, lineage);
  return runs.some((run) => run.id === id && run.status === 'running' && (generation === null || run.generation === generation));
}

/**
 * Settles all open reservations of a run. If the cost of a call is unknown, the whole reservation counts as spent. The
 * run must be locked.
 */
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
