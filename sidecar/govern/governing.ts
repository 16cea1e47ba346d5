// What deciding and recording need, of whoever governs: a sidecar, or a control plane its own runs.
import type { Clock } from '../clock.ts';
import type { Counters } from '../limits/counters.ts';
import type { PolicyCell } from '../snapshot/cell.ts';
import type { Durability } from '../spool/append.ts';
import type { Spool } from '../spool/spool.ts';
import type { OwedEntries } from './owed-entries.ts';

export interface GovernDeps {
  readonly cell: Pick<PolicyCell, 'current' | 'freshness' | 'refused'>;
  readonly clock: Pick<Clock, 'now' | 'wall'>;
  readonly newId: () => string;
  /** Whether entries keep inputs, or only their digests. */
  readonly keepInput: boolean;
  /** A decision was made by a policy older than the outage rule allows. */
  readonly onOutage?: () => void;
}

export interface Governing {
  readonly cell: PolicyCell;
  readonly counters: Counters;
  readonly govern: GovernDeps;
  readonly spool: Pick<Spool, 'append' | 'appendAsync'>;
  readonly durability: Durability;
  /** Entries that must still be written: they take others back. */
  readonly owed: OwedEntries;
  /** Decisions whose entries could not be written: calls denied for it, or let go on where the workspace allows that. */
  unrecorded: number;
  /** Decisions answered, by a denial or as the workspace chose, before the control plane had committed their entries; they arrive all the same. */
  unconfirmed: number;
}
