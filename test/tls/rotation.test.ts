// Years of authorities, server certificates and client certificates, by a clock: a client or server that renews in time
// never meets a certificate that it cannot check.
import { createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Material } from '../../control-plane/certificates/tls/material.ts';
import { createOwnMaterial } from '../../control-plane/certificates/tls/own-material.ts';
import { connectionGraceMs, connectionMs, type OwnTerms, ownTerms } from '../../control-plane/certificates/tls/terms.ts';
import { aliveAt, type Authority, needsNew, newAuthority, signerOf } from '../../control-plane/certificates/x509/authorities.ts';
import { randomFrom } from '../support/random.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const began = Date.parse('2026-01-01T00:00:00Z');
/**
 * The lifetimes are closer to each other than the real ones: a client renews only a few times before a new authority
 * signs.
 */
const terms: OwnTerms = { ...ownTerms, authorityMs: 12 * 24 * hourMs, serverMs: 3 * 24 * hourMs, clientMs: 6 * hourMs };
const stepMs = 90 * minuteMs;
const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });

/** Reads and verifies each certificate once: there are few certificates, and they are checked often. */
const remembered = <T>(work: (key: string) => T) => {
  const known = new Map<string, T>();
  return (key: string): T => {
    const value = known.get(key) ?? work(key);
    known.set(key, value);
    return value;
  };
};
const lifeIn = remembered((certificate) => {
  const { validFrom, validTo } = new X509Certificate(certificate);
  return { from: Date.parse(validFrom), until: Date.parse(validTo) };
});
const isSigned = remembered((both) => {
  const [one, by] = both.split('|').map((text) => new X509Certificate(text));
  return one !== undefined && by !== undefined && one.checkIssued(by) && one.verify(by.publicKey);
});

const isGoodAt = (certificate: string, authorities: readonly string[], now: number): boolean => {
  const lives = (one: string): boolean => lifeIn(one).from <= now && now <= lifeIn(one).until;
  return certificate !== '' && lives(certificate) && authorities.some((by) => lives(by) && isSigned(`${certificate}|${by}`));
};

/** Control planes with one database. Each checks it when `check` is called. */
function controlPlanes(count: number, now: () => Date, lived: OwnTerms) {
  const shared = { held: [] as readonly Authority[], made: 0 };
  const find = async () => {
    const alive = aliveAt(shared.held, now());
    const isDue = needsNew(alive, now());
    if (isDue) shared.made += 1;
    shared.held = isDue ? [...alive, newAuthority('Tollgate', { now: now(), terms: lived })] : alive;
    return { authorities: shared.held, signer: signerOf(shared.held, { now: now(), terms: lived }) };
  };
  const planes = Array.from({ length: count }, () => {
    const own = createOwnMaterial({ find, names: ['tollgate', '10.0.0.1'], terms: lived, now });
    const plane = {
      material: null as Material | null,
      check: async () => void (plane.material = await own.find(plane.material)),
      issue: own.issue,
    };
    return plane;
  });
  return { planes, shared };
}

/** Returns how often a certificate was met that could not be checked, in this many lifetimes of an authority. */
async function live(lived: OwnTerms, { seed, lives }: { readonly seed: number; readonly lives: number }) {
  const random = randomFrom(seed);
  let at = began;
  const { planes, shared } = controlPlanes(3, () => new Date(at), lived);
  for (const plane of planes) await plane.check();
  const pick = () => planes[Math.floor(random() * planes.length)] ?? planes[0];
  const shown = () => planes.map(({ material }) => material ?? { certificate: '', key: '', authorities: [] });
  const clients = Array.from({ length: 3 }, () => ({ certificate: '', authorities: shown()[0]?.authorities ?? [], renewAt: began }));
  let met = 0;
  const servers = new Set<string>();
  for (; at < began + lives * lived.authorityMs; at += stepMs) {
    // One of the control planes learns of a change hours late.
    const looks = ((at - began) / stepMs) % 5 === 0 ? 3 : 2;
    for (const plane of planes.slice(0, looks)) await plane.check();
    for (const client of clients.filter(({ renewAt }) => renewAt <= at)) {
      const plane = pick();
      if (!isGoodAt(plane?.material?.certificate ?? '', client.authorities, at)) met += 1;
      const issued = plane?.issue(publicKey, 'tollgate://workspace/acme/key/one');
      client.certificate = issued?.certificate ?? '';
      client.authorities = plane?.material?.authorities ?? [];
      client.renewAt = at + lived.clientMs * (2 / 3 + random() / 6) - stepMs;
    }
    for (const { certificate, authorities } of shown()) {
      servers.add(certificate);
      for (const client of clients)
        if (!isGoodAt(certificate, client.authorities, at) || !isGoodAt(client.certificate, authorities, at)) met += 1;
    }
  }
  return { met, authorities: shared.made, servers: servers.size };
}

test.each([1, 2])('a client that renews in time meets no certificate it cannot check, over many authorities (seed %i)', async (seed) => {
  const { met, authorities, servers } = await live(terms, { seed, lives: 2 });
  expect(met).toBe(0);
  expect(authorities).toBeGreaterThanOrEqual(3);
  expect(servers).toBeGreaterThan(15);
});

test('a new authority that signed at once would be met before any client knew of it', async () => {
  expect((await live({ ...terms, settleMs: 0 }, { seed: 1, lives: 1 })).met).toBeGreaterThan(0);
});

test('in the real terms an authority is valid for a year, is followed in its last third, and the next one signs a day later', () => {
  const dayMs = 24 * hourMs;
  const now = (days: number): Date => new Date(began + days * dayMs);
  const first = newAuthority('Tollgate', { now: now(0), terms: ownTerms });
  expect([243, 244].map((day) => needsNew([first], now(day)))).toEqual([false, true]);
  const next = newAuthority('Tollgate', { now: now(244), terms: ownTerms });
  const signs = (day: number): Authority => signerOf([first, next], { now: now(day), terms: ownTerms });
  expect([signs(244), signs(244.9), signs(245)]).toEqual([first, first, next]);
  expect([364.9, 365].map((day) => aliveAt([first, next], now(day)).length)).toEqual([2, 1]);
});

test('an authority made by a clock years ahead does not prevent a successor in time, and signs nothing before its day', () => {
  const years = (count: number): Date => new Date(began + count * ownTerms.authorityMs);
  const stray = newAuthority('Tollgate', { now: years(3), terms: ownTerms });
  const first = newAuthority('Tollgate', { now: years(0), terms: ownTerms });
  expect([0.1, 0.9, 1.1].map((year) => needsNew(aliveAt([first, stray], years(year)), years(year)))).toEqual([false, true, true]);
  const next = newAuthority('Tollgate', { now: years(1.1), terms: ownTerms });
  expect(signerOf([stray, next], { now: years(1.1), terms: ownTerms })).toBe(next);
});

test('a connection ends before the certificate that began it, if that was renewed in time', () => {
  // gRPC lets a connection become a tenth older, and a sidecar renews when at most five sixths of the lifetime have
  // passed.
  expect(connectionMs(ownTerms.clientMs) * 1.1 + connectionGraceMs).toBeLessThan(ownTerms.clientMs / 6);
});

test('no certificate outlives the authority that signed it', async () => {
  let at = began;
  const { planes } = controlPlanes(1, () => new Date(at), { ...terms, settleMs: 100 * terms.authorityMs });
  const [plane] = planes;
  at = began;
  await plane?.check();
  at = began + terms.authorityMs - 10 * minuteMs;
  await plane?.check();
  const issued = plane?.issue(publicKey, 'tollgate://workspace/acme/key/one');
  expect(issued?.expiresAt).toEqual(new Date(began + terms.authorityMs));
  expect(new X509Certificate(plane?.material?.certificate ?? '').validTo).toBe(
    new X509Certificate(plane?.material?.authorities[0] ?? '').validTo,
  );
  at = began + terms.authorityMs;
  expect(plane?.issue(publicKey, 'tollgate://workspace/acme/key/one')).toBeNull();
});

test('while nothing changes, the shown material is the same object', async () => {
  let at = began;
  const { planes } = controlPlanes(1, () => new Date(at), terms);
  const [plane] = planes;
  await plane?.check();
  const before = plane?.material;
  at += 30_000;
  await plane?.check();
  expect(plane?.material).toBe(before);
  expect(createPublicKey(before?.certificate ?? '').asymmetricKeyType).toBe('ec');
});
