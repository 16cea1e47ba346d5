// People who answer what policy asks about the calls of a test's sidecar: the ledger in memory, and a clock that the test
// advances.
import type { CompiledAsk } from '@tollgate/proto/contract';
import { type ApprovalKeeper, keepApprovals } from '../../sidecar/engine/approvals/approval-keeper.ts';
import { terms } from './approval-asks.ts';
import { ApprovalLedger } from './approval-ledger.ts';
import { createManualClock, type ManualClock } from './manual-clock.ts';
import { document, type World } from './snapshots.ts';

export interface Asked {
  readonly clock: ManualClock;
  readonly ledger: ApprovalLedger;
  readonly approvals: ApprovalKeeper;
}

export function createAsked(): Asked {
  const clock = createManualClock();
  const ledger = new ApprovalLedger(clock);
  return { clock, ledger, approvals: keepApprovals({ clock, random: () => 0.5, log: { info: () => undefined }, open: ledger.open }) };
}

/** A policy that asks about calls of this tool. */
export const asking = (tool: string, changed: Partial<CompiledAsk> = {}, rule: object = {}): World => ({
  documents: [document({ tools: [[tool, [['interactive', { permission: 'ask', ask: { ...terms, ...changed }, ...rule }]]]] })],
});

/** The number of uses of an approval that are claimed, and not given back. */
export function usesOf(ledger: ApprovalLedger, id: string): number {
  const row = ledger.rows.find((one) => one.id === id);
  if (row === undefined) throw new Error(`there is no approval ${id}`);
  return ledger.usesOf(row);
}

/** Resolves when what is under way in this process, without input and output, has been done. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 6; turn += 1) await new Promise((done) => void setImmediate(done));
}
