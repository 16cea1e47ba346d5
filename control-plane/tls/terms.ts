// How long the control plane's own certificates live, and what depends on that.
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
  // Clients hear of authorities with each certificate, so all that live by then have; the rest is for what is told by hand.
  settleMs: dayMs,
  backdateMs: 10 * minuteMs,
};

/**
 * How old a connection may become. Clients renew when at most five sixths of a certificate's life have gone, so who connects
 * shows one that holds for a sixth more: a connection, with gRPC's tenth more and its grace, is over before that.
 */
export const connectionMs = (clientMs: number): number => clientMs / 8;
export const connectionGraceMs = 10_000;
