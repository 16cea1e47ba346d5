// Checks that a program understands everything in its database. If it does not, it must not work on the database. The
// check runs before any other work on the database, and again together with the first heartbeat. A write that needs
// more capabilities counts the live control planes. This write and the first heartbeat take the same lock
// (`lockStart`), so one of them waits for the other. Therefore either the write counts this program, or this program
// finds the new need.
import { capabilities } from '@tollgate/proto/contract';
import type pg from 'pg';
import { type Deployment, lockStart, readDeployment } from '../deployment.ts';
import { beat } from '../../runs/store/run-instances.ts';
import { inTransaction } from '../transaction.ts';

/** Returns why the program must not work on the database; null: it understands everything in the database. */
export function notUnderstood({ needs }: Pick<Deployment, 'needs'>): string | null {
  const lacking = needs.filter((need) => !capabilities.includes(need));
  const words = 'this database contains policy that this version does not understand and would enforce incorrectly';
  return lacking.length === 0 ? null : `${words}; start the version that wrote it, or a later one. It needs: ${lacking.join(', ')}`;
}

/** Writes the first heartbeat. Rejects if the program must not work on this database. */
export async function joinDatabase(pool: pg.Pool, instance: string): Promise<void> {
  await inTransaction(pool, async (client) => {
    await lockStart(client);
    const deployment = await readDeployment(client);
    const problem = deployment === null ? null : notUnderstood(deployment);
    if (problem !== null) throw new Error(problem);
    await beat(client, instance);
  });
}
