// A chore of every control plane: what has expired is worth nothing already, and goes. Safe to run twice at once.
import { deleteExpiredSessions } from '../../store/sessions.ts';
import { deleteExpiredSignIns } from '../../store/sign-ins.ts';
import type { Deps } from '../operation.ts';

export async function tendSessions({ pool, clock }: Pick<Deps, 'pool' | 'clock'>): Promise<void> {
  const now = clock();
  await deleteExpiredSessions(pool, now);
  await deleteExpiredSignIns(pool, now);
}
