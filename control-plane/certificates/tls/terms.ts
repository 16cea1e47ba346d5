// The lifetimes of the control plane's own certificates, and values that depend on them.
import type { Terms } from '../x509/authorities.ts';

const minuteMs = 60_000;
const dayMs = 86_400_000;

export interface OwnTerms extends Terms {
  readonly clientMs: number;
}

export const ownTerms: OwnTerms = {
  authorityMs: 365 * dayMs,
  serverMs: 30 * dayMs,
  clientMs: 60 * minuteMs,
  // Clients receive the authorities with each certificate, so after `clientMs` all running clients have them. The rest
  // of `settleMs` is for clients that are configured by hand.
  settleMs: dayMs,
  backdateMs: 10 * minuteMs,
};

/**
 * Returns the maximum age of a connection in ms. Clients renew a certificate after at most five sixths of its life, so
 * a client connects with a certificate that is valid for at least another sixth. A connection ends before this sixth is
 * over, even with gRPC's additional tenth and the grace period.
 */
export const connectionMs = (clientMs: number): number => clientMs / 8;
export const connectionGraceMs = 10_000;
