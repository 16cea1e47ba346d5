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
 * Returns the maximum age of a connection in ms. Clients renew a certificate after at most five sixths of its life. So
 * when a client connects, its certificate is still valid for at least one sixth of its life. gRPC can lengthen the
 * maximum age by a tenth, and the grace period follows. Even then, the connection ends before this sixth is over.
 */
export const connectionMs = (clientMs: number): number => clientMs / 8;
export const connectionGraceMs = 10_000;
