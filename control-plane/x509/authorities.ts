// What becomes of authorities as time passes, whoever keeps them. States of one:
//   new       in the bundle by which others check us; signs nothing until they have had time to hear of it
//   signing   the newest one that has settled, or the only one
//   left      a newer one signs; it stays in the bundle until it expires
// A new one is made in the last third of the newest one's life, a new server certificate in the last third of its own.
import { createHash, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { makeAuthority, makeServer, type Pair } from './certificate.ts';

/** One of which at least so much is known. */
export interface Known {
  readonly certificate: string;
  /** ISO 8601; the certificate itself says an earlier time, for clocks that are behind. */
  readonly madeAt: string;
}

export interface Authority extends Known, Pair {}

export interface Server extends Authority {
  /** The fingerprint of the authority that signed it. */
  readonly by: string;
}

export interface Terms {
  readonly authorityMs: number;
  readonly serverMs: number;
  /** How long those who check us may take to hear of a new authority. */
  readonly settleMs: number;
  /** How far clocks may be apart. */
  readonly backdateMs: number;
}

interface Now {
  readonly now: Date;
  readonly terms: Terms;
}

/** Authorities are held the oldest one first. */
export const aliveAt = <A extends Known>(held: readonly A[], now: Date): readonly A[] =>
  held.filter((one) => lifeOf(one).until > now.getTime());

/** One that a clock far ahead has made is good later; until then it takes nobody's place. */
const validAt = <A extends Known>(alive: readonly A[], now: Date): readonly A[] => alive.filter((one) => lifeOf(one).from <= now.getTime());

/** Whether a new one is due beside those that are alive. */
export function needsNew(alive: readonly Known[], now: Date): boolean {
  const last = validAt(alive, now).at(-1);
  return last === undefined || isInLastThird(last, now);
}

export function newAuthority(name: string, { now, terms }: Now): Authority {
  const madeAt = now.toISOString();
  const validity = { from: new Date(now.getTime() - terms.backdateMs), until: new Date(now.getTime() + terms.authorityMs) };
  return { ...makeAuthority(`${name} ${madeAt}`, validity), madeAt };
}

/** Throws where none is alive. */
export function signerOf<A extends Known>(alive: readonly A[], { now, terms }: Now): A {
  const settled = alive.filter(({ madeAt }) => now.getTime() - Date.parse(madeAt) >= terms.settleMs);
  const signer = settled.at(-1) ?? validAt(alive, now)[0] ?? alive[0];
  if (signer === undefined) throw new Error('no authority is alive');
  return signer;
}

interface Serving extends Now {
  /** DNS names and IP addresses. */
  readonly names: readonly string[];
}

/** The server certificate to have now; `server` itself while it does. */
export function renewedServer(server: Server | null, signer: Authority, at: Serving): Server {
  return server !== null && isGood(server, signer, at) ? server : newServer(signer, at);
}

function isGood(server: Server, signer: Authority, { now, names }: Serving): boolean {
  const certificate = new X509Certificate(server.certificate);
  const isNamed = (name: string): boolean =>
    isIP(name) === 0
      ? certificate.checkHost(name, { subject: 'never', wildcards: false }) !== undefined
      : certificate.checkIP(name) !== undefined;
  return server.by === fingerprint(signer) && !isInLastThird(server, now) && names.every(isNamed);
}

function newServer(signer: Authority, { now, names, terms }: Serving): Server {
  const dnsNames = names.filter((name) => isIP(name) === 0);
  const ipAddresses = names.filter((name) => isIP(name) !== 0);
  const validity = validityBy(signer, { now, terms, ms: terms.serverMs });
  return { ...makeServer(signer, { dnsNames, ipAddresses, validity }), madeAt: now.toISOString(), by: fingerprint(signer) };
}

/** Of a certificate that lives so long, and never longer than who signs it. */
export function validityBy(
  signer: Known,
  { now, terms, ms }: Now & { readonly ms: number },
): { readonly from: Date; readonly until: Date } {
  const until = Math.min(now.getTime() + ms, lifeOf(signer).until);
  return { from: new Date(now.getTime() - terms.backdateMs), until: new Date(until) };
}

export function lifeOf({ certificate }: { readonly certificate: string }): { readonly from: number; readonly until: number } {
  const { validFrom, validTo } = new X509Certificate(certificate);
  return { from: Date.parse(validFrom), until: Date.parse(validTo) };
}

/** SHA-256 in hex. */
export const fingerprint = ({ certificate }: { readonly certificate: string }): string =>
  createHash('sha256').update(new X509Certificate(certificate).raw).digest('hex');

function isInLastThird(one: Known, now: Date): boolean {
  const { until } = lifeOf(one);
  return until - now.getTime() < (until - Date.parse(one.madeAt)) / 3;
}
