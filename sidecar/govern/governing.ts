// What deciding and recording need, of whoever governs: a sidecar, or a control plane its own runs.
import type { Clock } from '../clock.ts';
import type { Counters } from '../limits/counters.ts';
import type { PolicyCell } from '../snapshot/cell.ts';
import type { Spool } from '../spool/spool.ts';

export interface GovernDeps {
  readonly cell: Pick<PolicyCell, 'current' | 'freshness' | 'refused'>;
  readonly clock: Pick<Clock, 'now' | 'wall'>;
  readonly newId: () => string;
  /** Whether entries keep inputs, or only their digests. */
  readonly keepInput: boolean;
}

export interface Governing {
  readonly cell: PolicyCell;
  readonly counters: Counters;
  readonly govern: GovernDeps;
  readonly spool: Pick<Spool, 'append' | 'appendAsync'>;
  readonly durability: 'kernel' | 'disk';
  /** Decisions acted on although their entries could not be written. */
  unrecorded: number;
}
