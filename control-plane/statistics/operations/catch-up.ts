// Periodic job of every control plane: counts entries that a version without statistics has stored, before an update or
// while it is rolled out. Otherwise there is nothing to do, because entries are counted when they are stored. Safe when two
// processes run it at the same time, and when one is killed: each transaction counts some items and says so.
import type { OperationDeps } from '../../access/operation.ts';
import { inTransaction } from '../../database/transaction.ts';
import { countStored, listUncounted, lockUncounted } from '../store/count-stored.ts';

/** The items of one transaction. New entries of the workspace wait for it. */
const atOnce = 5_000;

/** `stopped`: it ends after the transaction that is under way. */
export async function catchUpCounts({ pool }: Pick<OperationDeps, 'pool'>, stopped?: AbortSignal): Promise<void> {
  for (const workspaceId of await listUncounted(pool)) {
    const next = (): Promise<boolean> =>
      inTransaction(
        pool,
        async (client) => {
          const items = await lockUncounted(client, workspaceId, atOnce);
          if (items !== null) await countStored(client, workspaceId, items);
          return items !== null;
        },
        'patient',
      );
    while (stopped?.aborted !== true && (await next()));
  }
}
