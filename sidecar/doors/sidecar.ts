// Defines the interface of a sidecar for its users. `start.ts` creates it, and the doors receive it.
import type { ApprovalKeeper } from '../engine/approvals/approval-keeper.ts';
import type { Governing } from '../engine/govern/governing.ts';
import type { LinkCredentials } from '../engine/link/tls/credentials.ts';
import type { ShipperStatus } from '../engine/ship/shipper.ts';
import type { LeaseKeeper } from '../engine/link/lease-keeper.ts';

export interface Sidecar extends Governing {
  shipping(): ShipperStatus;
  /** The leases of limits that other processes use too. */
  readonly leasing: Pick<LeaseKeeper, 'status' | 'onWaited'>;
  /** The questions to people. Null: no one can be asked. */
  readonly approvals: Pick<ApprovalKeeper, 'status' | 'drain'> | null;
  /** The credentials of the link to the control plane. Null: it has no credentials of its own. */
  readonly linkCredentials: Pick<LinkCredentials, 'expiresAt'> | null;
  /** The number of decisions that were made by a policy older than the outage rule allows. */
  readonly outageDecisions: number;
  /** Returns the reasons why the sidecar cannot serve. Empty: it can serve. */
  notReady(): readonly string[];
  /**
   * Resolves when the sidecar has a policy. This is the control plane's policy if the control plane answers, otherwise
   * the one on disk. Rejects after `timeoutMs`.
   */
  ready(timeoutMs: number): Promise<void>;
  /** Ships as many entries as possible within the deadline, in ms. The rest stays on disk for a later process. */
  close(deadlineMs?: number): Promise<void>;
}
