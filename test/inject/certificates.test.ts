// The webhook's own certificates: they are made, shared by control planes, and renewed together with the authority
// while requests arrive.
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { expect, onTestFinished, test } from 'vitest';
import { type Injector, startInjector } from '../../control-plane/injector/injector.ts';
import { advance, nothingHeld } from '../../control-plane/injector/rotation.ts';
import { shareCertificates } from '../../control-plane/injector/shared-certificates.ts';
import { readSettings } from '../../deploy/inject/settings.ts';
import { createKubernetes } from '../../control-plane/injector/kubernetes-api.ts';
import type { Terms } from '../../control-plane/certificates/x509/authorities.ts';
import { makeAuthority, makeServer, type Pair } from '../../control-plane/certificates/x509/certificate.ts';
import { readCertificates } from '../../control-plane/certificates/x509/given-certificates.ts';
import { type FakeKubernetes, startFakeKubernetes } from './fake-kubernetes.ts';
import { ask, reviewOf, serviceName } from './reviewing.ts';
import { needs } from '../support/installed.ts';

const hourMs = 3_600_000;
const name = 'tollgate-injector';
/** Short lifetimes, and a start so far in the past that all certificates are valid at the time of the test. */
const terms: Terms = { authorityMs: 30 * hourMs, serverMs: 12 * hourMs, settleMs: hourMs, backdateMs: 100 * hourMs };
const began = Date.now();
const read = readSettings({ image: 'sidecar:1', controlPlane: 'tollgate:8081' });
if ('problems' in read) throw new Error('the settings have problems');
const { settings } = read;
const review = reviewOf({ metadata: {}, spec: { containers: [{ name: 'app' }] } });

function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), 'certificates-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

async function fakeKubernetes(): Promise<FakeKubernetes> {
  const fake = await startFakeKubernetes(name);
  onTestFinished(() => fake.close());
  return fake;
}

interface Plane {
  readonly injector: Injector;
  readonly errors: unknown[];
}

/** A control plane whose clock shows `hours.now` since the beginning. */
async function plane(fake: FakeKubernetes, hours: { now: number }): Promise<Plane> {
  const kubernetes = createKubernetes(fake.account);
  const share = {
    kubernetes,
    namespace: 'tollgate',
    name,
    dnsNames: [serviceName],
    terms,
    now: () => new Date(began + hours.now * hourMs),
  };
  return serving(
    () => shareCertificates(share),
    () => kubernetes.close(),
  );
}

async function serving(certificate: () => Promise<Pair>, closed: () => Promise<void> = async () => undefined): Promise<Plane> {
  const errors: unknown[] = [];
  const log = { info: () => undefined, warn: () => undefined, error: (details: object) => void errors.push(details) };
  const deps = { settings, ownNamespace: 'tollgate', certificate, registry: new Registry(), log };
  const injector = await startInjector(deps, { host: '127.0.0.1', port: 0, checkMs: 2 ** 30 });
  onTestFinished(async () => {
    await injector.close(1_000);
    await closed();
  });
  return { injector, errors };
}

const allowedBy = async ({ injector }: Plane, ca: string, agent?: Agent): Promise<unknown> => {
  const { body } = await ask(review, { port: injector.port ?? 0, ca, ...(agent === undefined ? {} : { agent }) });
  return (body['response'] as { readonly allowed?: unknown }).allowed;
};

test('certificates have the form that OpenSSL and Node strictly require', needs('openssl'), () => {
  const folder = temporary();
  const validity = { from: new Date(began - hourMs), until: new Date(began + hourMs) };
  for (const round of [1, 2, 3, 4, 5]) {
    const authority = makeAuthority(`Tollgate injector ${round}`, validity);
    const server = makeServer(authority, { dnsNames: [serviceName, 'a'.repeat(60)], validity });
    const [ca, leaf] = [new X509Certificate(authority.certificate), new X509Certificate(server.certificate)];
    expect([ca.ca, leaf.ca, leaf.checkIssued(ca), leaf.verify(ca.publicKey)]).toEqual([true, false, true, true]);
    expect(leaf.checkHost(serviceName)).toBe(serviceName);
    writeFileSync(join(folder, 'ca.pem'), authority.certificate);
    writeFileSync(join(folder, 'leaf.pem'), server.certificate);
    const words = ['verify', '-x509_strict', '-purpose', 'sslserver', '-verify_hostname', serviceName, '-CAfile', 'ca.pem', 'leaf.pem'];
    expect(execFileSync('openssl', words, { cwd: folder, encoding: 'utf8' })).toContain('leaf.pem: OK');
  }
});

test('dates from 2050 on are written as RFC 5280 requires', () => {
  const { certificate } = makeAuthority('late', { from: new Date('2049-12-31T23:59:59Z'), until: new Date('2050-01-01T00:00:00Z') });
  const { validFrom, validTo } = new X509Certificate(certificate);
  expect([validFrom, validTo]).toEqual(['Dec 31 23:59:59 2049 GMT', 'Jan  1 00:00:00 2050 GMT']);
});

test('two control planes that start at once agree on one authority, and every webhook knows it', async () => {
  const fake = await fakeKubernetes();
  const hours = { now: 0 };
  const [one, other] = await Promise.all([plane(fake, hours), plane(fake, hours)]);
  expect(fake.bundle().match(/BEGIN CERTIFICATE/g)).toHaveLength(1);
  expect(fake.bundle(1)).toBe(fake.bundle());
  expect(await allowedBy(one, fake.bundle())).toBe(true);
  expect(await allowedBy(other, fake.bundle())).toBe(true);
});

test('a new authority is in the bundle before it signs, the old one as long as it is valid, and everything is written once', async () => {
  const fake = await fakeKubernetes();
  const hours = { now: 0 };
  const one = await plane(fake, hours);
  const first = fake.bundle();
  const seen: string[] = [];
  for (hours.now = 1; hours.now <= 31; hours.now += 1) {
    await one.injector.check();
    const count = fake.bundle().match(/BEGIN CERTIFICATE/g)?.length ?? 0;
    const byOld = await allowedBy(one, first).catch(() => 'unknown');
    seen.push(`${count} ${byOld === true ? 'old' : 'new'}`);
  }
  // In the last ten of thirty hours there are two authorities. The new one signs an hour later. Then the old one is
  // removed.
  expect([...new Set(seen)]).toEqual(['1 old', '2 old', '2 new', '1 new']);
  expect(seen.indexOf('2 new') - seen.indexOf('2 old')).toBe(1);
  const changes = fake.changes.length;
  await one.injector.check();
  expect(fake.changes).toHaveLength(changes);
  expect(one.errors).toEqual([]);
});

test('no review is lost while server certificates and the authority are renewed at two control planes', async () => {
  const fake = await fakeKubernetes();
  const hours = { now: 0 };
  const planes = [await plane(fake, hours), await plane(fake, hours)];
  const kept = new Agent({ keepAlive: true, maxSockets: 2 });
  onTestFinished(() => kept.destroy());
  let isOver = false;
  let answered = 0;
  const versions = new Set<string>();
  const heardOne = new EventEmitter();
  // An API server checks by the bundle that it knows. This one receives each change a step too late, as the terms
  // allow.
  let heard = fake.bundle();
  const stream = async (of: Plane, agent?: Agent): Promise<void> => {
    while (!isOver) {
      expect(await allowedBy(of, heard, agent)).toBe(true);
      answered += 1;
      heardOne.emit('answered');
    }
  };
  const all = Promise.all(planes.flatMap((of) => [stream(of), stream(of, kept)]));
  for (hours.now = 0; hours.now <= 62; hours.now += 2) {
    heard = fake.bundle();
    for (const { injector } of planes) await injector.check();
    versions.add(JSON.stringify(fake.secrets.get(name)?.['data']));
    const enough = answered + 6;
    while (answered < enough) await Promise.race([all, once(heardOne, 'answered')]);
  }
  isOver = true;
  await all;
  expect(answered).toBeGreaterThan(190);
  // There were three authorities, and server certificates that are valid for twelve hours.
  expect(versions.size).toBeGreaterThan(8);
  expect(planes.flatMap(({ errors }) => errors)).toEqual([]);
}, 90_000);

test('while the Kubernetes API is unreachable the webhook continues with what it has, and reports it; without a certificate it does not listen', async () => {
  const fake = await fakeKubernetes();
  const hours = { now: 0 };
  fake.refuse.times = 1;
  fake.refuse.status = 403;
  const late = await plane(fake, hours);
  expect([late.injector.port, late.injector.problem]).toEqual([
    null,
    'cannot read Secret tollgate/tollgate-injector: the service account is not allowed to',
  ]);
  await late.injector.check();
  expect(late.injector.problem).toBeNull();
  fake.refuse.times = 3;
  await late.injector.check();
  expect(late.errors).toHaveLength(2);
  expect([late.injector.problem, await allowedBy(late, fake.bundle())]).toEqual([null, true]);
  expect(JSON.stringify(late.errors)).not.toMatch(/PRIVATE|token-of/);
});

test('a configuration that changes during an update is read again, and one without the bundle gets it back', async () => {
  const fake = await fakeKubernetes();
  let others = 2;
  fake.beforeWrite = () => {
    if (others === 0) return;
    others -= 1;
    fake.configuration = { ...fake.configuration, metadata: { name, resourceVersion: `other ${others}` } };
  };
  const one = await plane(fake, { now: 0 });
  expect(await allowedBy(one, fake.bundle())).toBe(true);
  fake.configuration = JSON.parse(
    JSON.stringify(fake.configuration)
      .replaceAll(/"caBundle":"[^"]*",?/g, '')
      .replaceAll(',}', '}'),
  );
  expect(fake.bundle()).toBe('');
  await one.injector.check();
  expect(await allowedBy(one, fake.bundle())).toBe(true);
});

test('a Secret that is empty, as a chart creates it, or damaged is filled again', async () => {
  const fake = await fakeKubernetes();
  for (const data of [
    undefined,
    { 'state.json': 'e30=' },
    { 'state.json': Buffer.from('{"authorities":[{"key":"","certificate":"x"}],"server":null}').toString('base64') },
  ]) {
    fake.secrets.set(name, { metadata: { name, resourceVersion: '0', labels: { kept: 'yes' } }, ...(data === undefined ? {} : { data }) });
    const one = await plane(fake, { now: 0 });
    expect(await allowedBy(one, fake.bundle())).toBe(true);
    expect(fake.secrets.get(name)?.['metadata']).toMatchObject({ labels: { kept: 'yes' } });
  }
});

test('a changed name of the Service leads to a new server certificate by the same authority', () => {
  const at = { now: new Date(began), dnsNames: ['a.tollgate.svc'], terms };
  const held = advance(nothingHeld, at);
  const renamed = advance(held, { ...at, dnsNames: ['b.tollgate.svc'] });
  expect(renamed.authorities).toEqual(held.authorities);
  expect(new X509Certificate(renamed.server?.certificate ?? '').checkHost('b.tollgate.svc')).toBe('b.tollgate.svc');
  expect(advance(renamed, { ...at, dnsNames: ['b.tollgate.svc'] })).toBe(renamed);
});

test('given certificates are read again when they change, and a pair that does not match is not used', async () => {
  const folder = temporary();
  const validity = { from: new Date(began - hourMs), until: new Date(began + hourMs) };
  const pairs = [1, 2].map((round) => {
    const authority = makeAuthority(`given ${round}`, validity);
    return { ca: authority.certificate, ...makeServer(authority, { dnsNames: [serviceName], validity }) };
  });
  const [old, next] = pairs;
  if (old === undefined || next === undefined) throw new Error('there are two');
  const put = (file: string, text: string): void => {
    writeFileSync(join(folder, `${file}.new`), text);
    renameSync(join(folder, `${file}.new`), join(folder, file));
  };
  const late = await serving(() => readCertificates(folder));
  expect(late.injector.problem).toContain('ENOENT');
  put('tls.crt', old.certificate);
  put('tls.key', old.key);
  await late.injector.check();
  expect(await allowedBy(late, old.ca)).toBe(true);
  put('tls.crt', next.certificate);
  await late.injector.check();
  expect(await allowedBy(late, old.ca)).toBe(true);
  put('tls.key', next.key);
  await late.injector.check();
  expect(await allowedBy(late, next.ca)).toBe(true);
  expect(late.errors).toHaveLength(2);
});
