// Defines what deciding and recording need from the process that governs: a sidecar, or a control plane for its own
// runs.
import type { Clock } from '../../base/clock.ts';
import type { Approvals } from '../approvals/approval-keeper.ts';
import type { Counters } from '../limits/counters.ts';
import type { PolicyCell } from '../snapshot/cell.ts';
import type { Durability } from '../spool/append.ts';
import type { Spool } from '../spool/spool.ts';
import type { OwedEntries } from './owed-entries.ts';

export interface GovernDeps {
  readonly cell: Pick<PolicyCell, 'current' | 'freshness' | 'refused'>;
  readonly clock: Pick<Clock, 'now' | 'wallTime'>;
  readonly newId: () => string;
  /** Whether entries store inputs, or only their digests. */
  readonly keepInput: boolean;
  /** Called when a decision was made by a policy that is older than the outage rule allows. */
  readonly onOutage?: () => void;
  /** Absent: no one can be asked here, so a call that policy asks for is denied. */
  readonly approvals?: Approvals;
}

export interface Governing {
  readonly cell: PolicyCell;
  readonly counters: Counters;
  readonly govern: GovernDeps;
  readonly spool: Pick<Spool, 'append' | 'appendAsync'>;
  readonly durability: Durability;
  /** Entries that must still be written. Each withdraws an earlier entry. */
  readonly owed: OwedEntries;
  /**
   * Number of decisions whose entries could not be written. Their calls were denied, or continued if the workspace
   * allows that.
   */
  unrecorded: number;
  /**
   * Number of decisions that were answered (with a denial, or as the workspace chose) before the control plane had
   * committed their entries. These entries still arrive.
   */
  unconfirmed: number;
}
