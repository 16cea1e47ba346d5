// What a sidecar is to those who use it: the doors take it, `start.ts` makes it.
import type { Governing } from './govern/governing.ts';
import type { LinkCredentials } from './tls/credentials.ts';
import type { ShipperStatus } from './ship/shipper.ts';
import type { LeaseKeeper } from './sync/lease-keeper.ts';

export interface Sidecar extends Governing {
  shipping(): ShipperStatus;
  /** What is held of limits that others use as well. */
  readonly leasing: Pick<LeaseKeeper, 'status' | 'onWaited'>;
  /** What it connects by; null: nothing of its own. */
  readonly linkCredentials: Pick<LinkCredentials, 'expiresAt'> | null;
  /** Decisions made by a policy older than the outage rule allows. */
  readonly outageDecisions: number;
  /** Why it cannot serve; empty when it can. */
  notReady(): readonly string[];
  /** Resolves once policy is held: the control plane's if it answers, else that on disk. Rejects after `timeoutMs`. */
  ready(timeoutMs: number): Promise<void>;
  /** Ships what it can within the deadline; the rest stays on disk for a later process. */
  close(deadlineMs?: number): Promise<void>;
}
