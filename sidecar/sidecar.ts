// What a sidecar is to those who use it: the doors take it, `start.ts` makes it.
import type { GovernDeps } from './gateway/govern.ts';
import type { Counters } from './limits/counters.ts';
import type { ShipperStatus } from './ship/shipper.ts';
import type { PolicyCell } from './snapshot/cell.ts';
import type { Spool } from './spool/spool.ts';

/** What deciding and recording need. */
export interface Governing {
  readonly cell: PolicyCell;
  readonly counters: Counters;
  readonly govern: GovernDeps;
  readonly spool: Pick<Spool, 'append' | 'appendAsync'>;
  readonly durability: 'kernel' | 'disk';
  /** Decisions acted on although their entries could not be written. */
  unrecorded: number;
}

export interface Sidecar extends Governing {
  shipping(): ShipperStatus;
  /** Why it cannot serve; empty when it can. */
  notReady(): readonly string[];
  /** Resolves once policy is held: the control plane's if it answers, else that on disk. Rejects after `timeoutMs`. */
  ready(timeoutMs: number): Promise<void>;
  /** Ships what it can within the deadline; the rest stays on disk for a later process. */
  close(deadlineMs?: number): Promise<void>;
}
