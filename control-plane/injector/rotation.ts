// Which certificates the webhook has, and what becomes of them as time passes: the authorities whose bundle API servers
// check us by, and one server certificate, which all control planes share.
import { aliveAt, type Authority, needsNew, newAuthority, renewedServer, type Server, signerOf, type Terms } from '../x509/authorities.ts';

export interface Held {
  /** The oldest one first. */
  readonly authorities: readonly Authority[];
  readonly server: Server | null;
}

const dayMs = 86_400_000;
export const standardTerms: Terms = { authorityMs: 365 * dayMs, serverMs: 30 * dayMs, settleMs: 600_000, backdateMs: 600_000 };

export const nothingHeld: Held = { authorities: [], server: null };

interface At {
  readonly now: Date;
  readonly dnsNames: readonly string[];
  readonly terms: Terms;
}

/** What is to be held now; `held` itself where that is the same. */
export function advance(held: Held, { now, dnsNames, terms }: At): Held {
  const alive = aliveAt(held.authorities, now);
  const authorities = needsNew(alive, now) ? [...alive, newAuthority('Tollgate injector', { now, terms })] : alive;
  const server = renewedServer(held.server, signerOf(authorities, { now, terms }), { now, names: dnsNames, terms });
  const isSame = authorities.length === held.authorities.length && authorities.at(-1) === held.authorities.at(-1);
  return server === held.server && isSame ? held : { authorities, server };
}

/** By which API servers check us. */
export const bundleOf = ({ authorities }: Held): readonly string[] => authorities.map(({ certificate }) => certificate);
