// Periodic job of every control plane: deletes expired sessions and sign-ins, which are already invalid. Safe when two
// processes run it at the same time.
import { deleteExpiredSessions } from '../store/sessions.ts';
import { deleteExpiredSignIns } from '../store/sign-ins.ts';
import type { OperationDeps } from '../operation.ts';

export async function removeExpiredSessions({ pool, clock }: Pick<OperationDeps, 'pool' | 'clock'>): Promise<void> {
  const now = clock();
  await deleteExpiredSessions(pool, now);
  await deleteExpiredSignIns(pool, now);
}
