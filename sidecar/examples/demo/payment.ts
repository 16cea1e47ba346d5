// Shows a call that waits for a person: the tool is a function of ours, in `run.guard`, and the person answers with the
// command line and a key of their own.
import type { Run } from '@tollgate/sidecar';
import { session } from './print.ts';

interface Payment {
  readonly amount: number;
  readonly to: string;
}

/** Returns the payment as the agent calls it. Policy may let its caller wait for a person. */
export const createTransfer = (run: Run): ((payment: Payment) => Promise<string>) =>
  run.guard('payments.transfer', ({ amount, to }: Payment) => `paid ${amount} to ${to}`);

/** A person looks at the call and approves it. `tollgate`: runs the command line with their key. */
export async function approve(tollgate: (words: readonly string[]) => Promise<string>, approvalId: string): Promise<void> {
  session('tollgate approvals show <id>', await tollgate(['approvals', 'show', approvalId]));
  // Without a terminal, `--yes` says that the call was seen.
  session('tollgate approvals approve <id> --yes', await tollgate(['approvals', 'approve', approvalId, '--yes']));
}
