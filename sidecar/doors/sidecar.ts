// Defines the interface of a sidecar for its users. `start.ts` creates it, and the doors receive it.
import type { Governing } from '../engine/govern/governing.ts';
import type { LinkCredentials } from '../engine/link/tls/credentials.ts';
import type { ShipperStatus } from '../engine/ship/shipper.ts';
import type { LeaseKeeper } from '../engine/link/lease-keeper.ts';

export interface Sidecar extends Governing {
  shipping(): ShipperStatus;
  /** What is held of limits that other processes use too. */
  readonly leasing: Pick<LeaseKeeper, 'status' | 'onWaited'>;
  /** The credentials of the link. Null: it has no credentials of its own. */
  readonly linkCredentials: Pick<LinkCredentials, 'expiresAt'> | null;
  /** Decisions made by a policy that is older than the outage rule allows. */
  readonly outageDecisions: number;
  /** Returns why it cannot serve. Empty: it can serve. */
  notReady(): readonly string[];
  /**
   * Resolves when policy is held: the control plane's if it answers, otherwise the one on disk. Rejects after
   * `timeoutMs`.
   */
  ready(timeoutMs: number): Promise<void>;
  /** Ships what it can within the deadline. The rest stays on disk for a later process. */
  close(deadlineMs?: number): Promise<void>;
}
