// Defines the life cycle of authorities, independent of where they are stored. States of one authority: - new: it is in
// the bundle with which clients verify the control plane. It signs nothing until all clients have had time to receive
// it. - signing: the newest authority that is older than `settleMs`. If there is none, the oldest valid authority
// signs. - left: a newer authority signs. This one stays in the bundle until it expires.
//
// A new authority is made in the last third of the life of the newest authority. A new server certificate is made in
// the last third of the life of the present one.
import { createHash, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { makeAuthority, makeServer, type Pair } from './certificate.ts';

/** The data of an authority without its private key. */
export interface DatedAuthority {
  readonly certificate: string;
  /**
   * When the authority was made, in ISO 8601. The validity of the certificate starts earlier than this, because some
   * clocks are behind.
   */
  readonly madeAt: string;
}

export interface Authority extends DatedAuthority, Pair {}

export interface Server extends Authority {
  /** The fingerprint of the authority that signed the certificate. */
  readonly by: string;
}

export interface Terms {
  readonly authorityMs: number;
  readonly serverMs: number;
  /** How long it may take until all clients know a new authority. */
  readonly settleMs: number;
  /** The largest allowed difference between clocks. */
  readonly backdateMs: number;
}

interface Now {
  readonly now: Date;
  readonly terms: Terms;
}

/** Returns the authorities that have not expired. The list is ordered, oldest first. */
export const aliveAt = <A extends DatedAuthority>(held: readonly A[], now: Date): readonly A[] =>
  held.filter((one) => lifeOf(one).until > now.getTime());

/**
 * Returns the authorities that are already valid. An authority that was made with a clock far ahead becomes valid
 * later. Until then it does not replace another one.
 */
const validAt = <A extends DatedAuthority>(alive: readonly A[], now: Date): readonly A[] =>
  alive.filter((one) => lifeOf(one).from <= now.getTime());

/** Returns whether a new authority must be made in addition to the unexpired ones. */
export function needsNew(alive: readonly DatedAuthority[], now: Date): boolean {
  const last = validAt(alive, now).at(-1);
  return last === undefined || isInLastThird(last, now);
}

export function newAuthority(name: string, { now, terms }: Now): Authority {
  const madeAt = now.toISOString();
  const validity = { from: new Date(now.getTime() - terms.backdateMs), until: new Date(now.getTime() + terms.authorityMs) };
  return { ...makeAuthority(`${name} ${madeAt}`, validity), madeAt };
}

/** Returns the authority that signs now. Throws when there is no unexpired authority. */
export function signerOf<A extends DatedAuthority>(alive: readonly A[], { now, terms }: Now): A {
  const settled = alive.filter(({ madeAt }) => now.getTime() - Date.parse(madeAt) >= terms.settleMs);
  const signer = settled.at(-1) ?? validAt(alive, now)[0] ?? alive[0];
  if (signer === undefined) throw new Error('there is no unexpired authority that can sign certificates');
  return signer;
}

interface ServerCertificateTerms extends Now {
  /** DNS names and IP addresses. */
  readonly names: readonly string[];
}

/** Returns the current server certificate; `server` itself while it is still good. */
export function renewedServer(server: Server | null, signer: Authority, at: ServerCertificateTerms): Server {
  return server !== null && isGood(server, signer, at) ? server : newServer(signer, at);
}

function isGood(server: Server, signer: Authority, { now, names }: ServerCertificateTerms): boolean {
  const certificate = new X509Certificate(server.certificate);
  const isNamed = (name: string): boolean =>
    isIP(name) === 0
      ? certificate.checkHost(name, { subject: 'never', wildcards: false }) !== undefined
      : certificate.checkIP(name) !== undefined;
  return server.by === fingerprint(signer) && !isInLastThird(server, now) && names.every(isNamed);
}

function newServer(signer: Authority, { now, names, terms }: ServerCertificateTerms): Server {
  const dnsNames = names.filter((name) => isIP(name) === 0);
  const ipAddresses = names.filter((name) => isIP(name) !== 0);
  const validity = validityBy(signer, { now, terms, ms: terms.serverMs });
  return { ...makeServer(signer, { dnsNames, ipAddresses, validity }), madeAt: now.toISOString(), by: fingerprint(signer) };
}

/**
 * Returns the validity of a certificate with a lifetime of `ms`. It never ends later than the validity of the signer.
 */
export function validityBy(
  signer: DatedAuthority,
  { now, terms, ms }: Now & { readonly ms: number },
): { readonly from: Date; readonly until: Date } {
  const until = Math.min(now.getTime() + ms, lifeOf(signer).until);
  return { from: new Date(now.getTime() - terms.backdateMs), until: new Date(until) };
}

export function lifeOf({ certificate }: { readonly certificate: string }): { readonly from: number; readonly until: number } {
  const { validFrom, validTo } = new X509Certificate(certificate);
  return { from: Date.parse(validFrom), until: Date.parse(validTo) };
}

/** Returns the SHA-256 of the certificate in hex. */
export const fingerprint = ({ certificate }: { readonly certificate: string }): string =>
  createHash('sha256').update(new X509Certificate(certificate).raw).digest('hex');

function isInLastThird(one: DatedAuthority, now: Date): boolean {
  const { until } = lifeOf(one);
  return until - now.getTime() < (until - Date.parse(one.madeAt)) / 3;
}
