// What a sidecar is to those who use it: the doors take it, `start.ts` makes it.
import type { Governing } from './govern/governing.ts';
import type { ShipperStatus } from './ship/shipper.ts';

export interface Sidecar extends Governing {
  shipping(): ShipperStatus;
  /** Why it cannot serve; empty when it can. */
  notReady(): readonly string[];
  /** Resolves once policy is held: the control plane's if it answers, else that on disk. Rejects after `timeoutMs`. */
  ready(timeoutMs: number): Promise<void>;
  /** Ships what it can within the deadline; the rest stays on disk for a later process. */
  close(deadlineMs?: number): Promise<void>;
}
