// Determines which certificates the webhook has at a given time: the authorities with which API servers verify it, and
// one server certificate. All control planes share them.
import {
  aliveAt,
  type Authority,
  needsNew,
  newAuthority,
  renewedServer,
  type Server,
  signerOf,
  type Terms,
} from '../certificates/x509/authorities.ts';

export interface HeldCertificates {
  /** Oldest first. */
  readonly authorities: readonly Authority[];
  readonly server: Server | null;
}

const dayMs = 86_400_000;
export const standardTerms: Terms = { authorityMs: 365 * dayMs, serverMs: 30 * dayMs, settleMs: 600_000, backdateMs: 600_000 };

export const nothingHeld: HeldCertificates = { authorities: [], server: null };

interface At {
  readonly now: Date;
  readonly dnsNames: readonly string[];
  readonly terms: Terms;
}

/** Returns the certificates that the webhook must have now. Returns the same object `held` if nothing changes. */
export function advance(held: HeldCertificates, { now, dnsNames, terms }: At): HeldCertificates {
  const alive = aliveAt(held.authorities, now);
  const authorities = needsNew(alive, now) ? [...alive, newAuthority('Tollgate injector', { now, terms })] : alive;
  const server = renewedServer(held.server, signerOf(authorities, { now, terms }), { now, names: dnsNames, terms });
  const isSame = authorities.length === held.authorities.length && authorities.at(-1) === held.authorities.at(-1);
  return server === held.server && isSame ? held : { authorities, server };
}

/** Returns the certificates with which API servers verify the webhook. */
export const bundleOf = ({ authorities }: HeldCertificates): readonly string[] => authorities.map(({ certificate }) => certificate);
