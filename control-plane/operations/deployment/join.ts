// A program understands all that its database holds, or does not work on it. Looked at before anything is done with the database, and once
// more together with the first sign of life: a write that needs more counts who lives, so either it sees this program, or this one sees it.
import { capabilities } from '@tollgate/proto/contract';
import type pg from 'pg';
import { type Deployment, lockStart, readDeployment } from '../../store/deployment.ts';
import { beat } from '../../store/run-instances.ts';
import { inTransaction } from '../../store/transaction.ts';

/** Null: it understands all of it. */
export function notUnderstood({ needs }: Pick<Deployment, 'needs'>): string | null {
  const lacking = needs.filter((need) => !capabilities.includes(need));
  const words = 'this database holds what this version does not understand, and would enforce wrongly';
  return lacking.length === 0 ? null : `${words}; start the version that wrote it, or a later one. It needs: ${lacking.join(', ')}`;
}

/** The first sign of life. Rejects where it may not work on it. */
export async function joinDatabase(pool: pg.Pool, instance: string): Promise<void> {
  await inTransaction(pool, async (client) => {
    await lockStart(client);
    const deployment = await readDeployment(client);
    const problem = deployment === null ? null : notUnderstood(deployment);
    if (problem !== null) throw new Error(problem);
    await beat(client, instance);
  });
}
