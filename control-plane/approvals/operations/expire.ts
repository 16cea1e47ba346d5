// Periodic job of every control plane: records the end of approvals whose time is over. Safe when two processes run it at
// the same time: each takes rows that no one has locked.
import { inTransaction } from '../../database/transaction.ts';
import { byTime, deleteOld, lockDue, recordStep } from '../store/approvals.ts';
import type { ApprovalDeps, ApprovalParts } from './parts.ts';

/** The maximum number of rows in one transaction, so that none takes long. */
const atOnce = 200;
const deletedAtOnce = 1_000;

interface ExpireDeps extends Pick<ApprovalDeps, 'pool'> {
  readonly approvals: Pick<ApprovalParts, 'metrics'>;
}

/** Returns how many approvals have expired. */
export async function expireDue({ pool, approvals }: ExpireDeps): Promise<number> {
  let all = 0;
  for (;;) {
    const count = await inTransaction(pool, async (client) => {
      const due = await lockDue(client, atOnce);
      for (const approval of due) await recordStep(client, approval, 'expired', byTime, { state: 'expired' });
      return due.length;
    });
    for (let at = 0; at < count; at += 1) approvals.metrics.decided('expired', null);
    all += count;
    if (count < atOnce) return all;
  }
}

/** Deletes approvals that have been final for longer than audit entries are kept. Returns how many. */
export async function removeOldApprovals({ pool }: Pick<ApprovalDeps, 'pool'>, retentionDays: number): Promise<number> {
  let all = 0;
  for (;;) {
    const count = await deleteOld(pool, retentionDays, deletedAtOnce);
    all += count;
    if (count < deletedAtOnce) return all;
  }
}
