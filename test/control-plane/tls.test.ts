// Certificates on both sides of gRPC, as a control plane configures them: an authority in the database, the listener
// where sidecars enrol, and which credentials are accepted.
import { generateKeyPairSync, randomBytes, X509Certificate } from 'node:crypto';
import { request } from 'node:https';
import { type ChannelCredentials, credentials } from '@grpc/grpc-js';
import type { SyncRequest } from '@tollgate/proto';
import { snapshotSchemaVersion } from '@tollgate/proto/contract';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { holderSecret } from '../support/lease-names.ts';
import type { TlsMaterial } from '../../control-plane/grpc/credentials.ts';
import { authenticate } from '../../control-plane/access/operations/authenticate.ts';
import { maintainAuthorities } from '../../control-plane/certificates/operations/maintain-authorities.ts';
import { createSealer } from '../../control-plane/tool-servers/store/sealed.ts';
import { ownTerms } from '../../control-plane/certificates/tls/terms.ts';
import { type Undo, undoAll } from '../../control-plane/base/undo.ts';
import { type Tls, wireTls } from '../../control-plane/app/wire-tls.ts';
import { makeAuthority, makeClient, makeServer, type Pair } from '../../control-plane/certificates/x509/certificate.ts';
import { followPlane, openLease, openShip, openSync, type Plane, startPlane } from '../support/plane.ts';
import { createTestDatabase } from '../support/database.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const sealer = createSealer(['operator-key-of-at-least-32-characters'], randomBytes);
const undo: Undo = [];
const lines: string[] = [];
const note = (fields: object, message: string): void => void lines.push(`${message} ${JSON.stringify(fields)}`);
const log = { info: note, warn: note, error: note };

let plane: Plane;
let tls: Tls;
let sync: { readonly key: string; readonly id: string };

beforeAll(async () => {
  plane = await startPlane({ sealer, authorities: () => tls.authorities() });
  const config = { host: '127.0.0.1', enrolPort: '0', tlsNames: null, tlsDir: null };
  const deps = { ...plane.deps, sealer, config, env: {}, registry: plane.registry, rest: null, log };
  tls = await wireTls({ ...deps, authenticate: (header) => authenticate(plane.deps, header) }, undo);
  sync = await plane.issueKey(['sidecar.sync', 'govern']);
});
afterAll(async () => {
  await undoAll(undo, log);
  await plane.close();
});
beforeEach(async () => {
  await plane.stopGrpc();
  plane.tls = tls.grpc;
  plane.aheadMs = 0;
  await plane.startGrpc();
});

const hello: SyncRequest = { hello: { sidecarId: 'by-hand', bootId: 'b', form: 'FORM_PROCESS', schemaVersion: snapshotSchemaVersion } };

async function enrol(key: string): Promise<Pair> {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const body = JSON.stringify({ publicKey: publicKey.export({ type: 'spki', format: 'pem' }) });
  const ca = await tls.authorities();
  const answer = await new Promise<{ readonly status: number | undefined; readonly text: string }>((done, fail) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}`, connection: 'close' };
    const sent = request({ host: '127.0.0.1', port: tls.enrolPort, path: '/v1/certificate', method: 'POST', ca, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      response.on('end', () => done({ status: response.statusCode, text }));
    });
    sent.on('error', fail).end(body);
  });
  if (answer.status !== 200) throw new Error(answer.text);
  return { certificate: JSON.parse(answer.text).certificate, key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
}

const by = (ca: string, own: Pair | null): ChannelCredentials =>
  own === null
    ? credentials.createSsl(Buffer.from(ca))
    : credentials.createSsl(Buffer.from(ca), Buffer.from(own.key), Buffer.from(own.certificate));

/** A client's certificate from any authority and for any time. */
function issued(authority: Pair, uri: string, [from, until]: readonly [number, number]): Pair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const validity = { from: new Date(Date.now() + from), until: new Date(Date.now() + until) };
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return { certificate: makeClient(authority, { publicKey, uri, validity }), key };
}

const signer = async (): Promise<Pair> => (await maintainAuthorities({ ...plane.deps, sealer }, ownTerms)).signer;

test('two control planes that check at the same time create one authority, both for the first one and when the next is due', async () => {
  const database = await createTestDatabase();
  try {
    let at = Date.now();
    const deps = { pool: database.pool, clock: () => new Date(at), sealer };
    const all = () => Promise.all([1, 2, 3, 4].map(() => maintainAuthorities(deps, ownTerms)));
    const first = await all();
    expect(new Set(first.map(({ signer: one }) => one.key)).size).toBe(1);
    at += 250 * dayMs;
    const second = await all();
    expect(second.map(({ authorities }) => authorities.length)).toEqual([2, 2, 2, 2]);
    expect(new Set(second.map(({ signer: one }) => one.key))).toEqual(new Set(first.map(({ signer: one }) => one.key)));
    at += dayMs;
    const third = await all();
    expect(new Set(third.map(({ signer: one }) => one.certificate))).toEqual(new Set([second[0]?.authorities[1]?.certificate]));
    const { rows } = await database.pool.query<{ text: string }>(
      "select certificate || encode(sealed_key, 'escape') as text from authority",
    );
    expect(rows).toHaveLength(2);
    expect(rows.some(({ text }) => /PRIVATE/.test(text))).toBe(false);
    const other = { ...deps, sealer: createSealer(['another-key-of-at-least-32-characters!'], randomBytes) };
    await expect(maintainAuthorities(other, ownTerms)).rejects.toThrow(/encrypted with a different TOLLGATE_SECRET_KEY/);
    // A clock that is years ahead creates one that does not disturb others, and removes none.
    at += 900 * dayMs;
    await maintainAuthorities(deps, ownTerms);
    expect((await database.pool.query('select 1 from authority')).rowCount).toBe(3);
  } finally {
    await database.close();
  }
});

test('the next authority is created early where the newest is marked as old, and its rows may be removed while control planes run', async () => {
  const database = await createTestDatabase();
  try {
    const deps = { pool: database.pool, clock: () => new Date(), sealer };
    const first = await maintainAuthorities(deps, ownTerms);
    await database.pool.query("update authority set made_at = made_at - interval '10 years'");
    const second = await maintainAuthorities(deps, ownTerms);
    expect([second.authorities.length, second.signer.certificate]).toEqual([2, first.signer.certificate]);
    expect((await maintainAuthorities(deps, ownTerms)).authorities).toHaveLength(2);
    await database.pool.query('delete from authority');
    const third = await maintainAuthorities(deps, ownTerms);
    expect(third.authorities.map(({ certificate }) => certificate)).toEqual([third.signer.certificate]);
    expect(second.authorities.map(({ certificate }) => certificate)).not.toContain(third.signer.certificate);
  } finally {
    await database.close();
  }
});

test('a client that enrolled with a key connects with its certificate, to every service', async () => {
  const own = by(await tls.authorities(), await enrol(sync.key));
  const policy = openSync(plane, sync.key, own);
  policy.write(hello);
  expect((await policy.next()).message).toBe('snapshot');
  const audit = openShip(plane, sync.key, own);
  audit.write({ hello: { sidecarId: 'by-hand' } });
  const lease = openLease(plane, sync.key, own);
  lease.write({ hello: { holderSecret: holderSecret('b') } });
  expect(policy.received.length).toBeGreaterThan(0);
  expect(lines.join()).not.toMatch(/gsk_|PRIVATE/);
});

test('a client without a certificate, in plain text, or with a certificate of another authority is refused', async () => {
  const ca = await tls.authorities();
  const foreign = makeAuthority('Tollgate', { from: new Date(Date.now() - hourMs), until: new Date(Date.now() + hourMs) });
  const uri = `tollgate://workspace/acme/key/${sync.id}`;
  const refused = [
    by(ca, null),
    credentials.createInsecure(),
    by(ca, issued(foreign, uri, [-hourMs, hourMs])),
    by(ca, issued(await signer(), uri, [-hourMs, -1_000])),
    by(ca, issued(await signer(), uri, [hourMs, 2 * hourMs])),
  ];
  for (const own of refused) {
    const policy = openSync(plane, sync.key, own);
    policy.write(hello);
    expect(await policy.ended).toMatch(/^UNAVAILABLE: /);
    expect(policy.received).toEqual([]);
  }
});

test('a server certificate cannot be used to connect', async () => {
  const { certificate, key } = makeServer(await signer(), {
    dnsNames: ['localhost'],
    validity: { from: new Date(Date.now() - hourMs), until: new Date(Date.now() + hourMs) },
  });
  const policy = openSync(plane, sync.key, by(await tls.authorities(), { certificate, key }));
  expect(await policy.ended).toMatch(/^UNAVAILABLE: /);
});

test('a certificate issued to a key of one workspace is accepted with each key of that workspace, and with no key of another', async () => {
  const ca = await tls.authorities();
  const own = by(ca, await enrol(sync.key));
  const policy = openSync(plane, plane.other, own);
  expect(await policy.ended).toBe('UNAUTHENTICATED: the client certificate was issued for a different workspace than the key');
  const second = openSync(plane, (await plane.issueKey(['sidecar.sync'])).key, own);
  second.write(hello);
  expect((await second.next()).message).toBe('snapshot');
  const pod = issued(await signer(), 'tollgate://cluster/ns/agents/sa/default/pod/app-0', [-hourMs, hourMs]);
  const third = openSync(plane, plane.other, by(ca, pod));
  third.write(hello);
  expect((await third.next()).message).toBe('snapshot');
});

test('a valid certificate is useless without a valid key', async () => {
  const own = by(await tls.authorities(), await enrol(sync.key));
  expect(await openSync(plane, null, own).ended).toMatch(/^UNAUTHENTICATED: a workspace API key is needed/);
});

test('no stream outlives its certificate; that is not a refusal', async () => {
  const policy = openSync(plane, sync.key, by(await tls.authorities(), await enrol(sync.key)));
  plane.aheadMs = hourMs - 300;
  policy.write(hello);
  expect(await policy.ended).toBe('UNAVAILABLE: the client certificate has expired; connect again with another');
});

test('the server’s certificate and its trusted authorities may change while streams are open', async () => {
  const validity = { from: new Date(Date.now() - hourMs), until: new Date(Date.now() + hourMs) };
  const [first, second] = ['first', 'second'].map((name) => makeAuthority(name, validity));
  if (first === undefined || second === undefined) throw new Error('there are two');
  const serving = (authority: Pair, believed: readonly Pair[]): TlsMaterial => ({
    ...makeServer(authority, { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'], validity }),
    authorities: believed.map(({ certificate }) => certificate),
  });
  const listeners = new Set<(material: TlsMaterial) => void>();
  const source = {
    current: null as TlsMaterial | null,
    onChange: (listener: (material: TlsMaterial) => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  const use = (material: TlsMaterial): void => {
    source.current = material;
    for (const listener of listeners) listener(material);
  };
  await plane.stopGrpc();
  plane.tls = { source, connectionMs: hourMs, graceMs: 1_000 };
  await plane.startGrpc();
  const uri = `tollgate://workspace/acme/key/${sync.id}`;
  const clientOf = (authority: Pair, ca: string): ChannelCredentials => by(ca, issued(authority, uri, [-hourMs, hourMs]));
  const enters = async (own: ChannelCredentials): Promise<boolean> => {
    const policy = openSync(plane, sync.key, own);
    policy.write(hello);
    return policy.next().then(
      () => true,
      () => false,
    );
  };
  // While the server has no certificate, every client is refused.
  expect(await enters(clientOf(first, first.certificate))).toBe(false);
  use(serving(first, [first]));
  expect(await enters(clientOf(first, first.certificate))).toBe(true);
  expect(await enters(clientOf(second, first.certificate))).toBe(false);
  const open = openSync(plane, sync.key, clientOf(first, first.certificate));
  open.write(hello);
  const held = (await open.next()).snapshot;
  if (held?.revision == null) throw new Error('the first message is a snapshot');
  use(serving(first, [first, second]));
  expect(await enters(clientOf(second, first.certificate))).toBe(true);
  use(serving(second, [first, second]));
  expect(await enters(clientOf(first, first.certificate))).toBe(false);
  expect(await enters(clientOf(first, first.certificate + second.certificate))).toBe(true);
  use(serving(second, [second]));
  expect(await enters(clientOf(first, second.certificate))).toBe(false);
  const revision = await plane.writePolicy({ tools: { 'tool.new': { api: { permission: 'deny' } } } });
  open.write({ ack: { revision: held.revision, hash: held.hash } });
  const { snapshot, delta } = await open.next();
  expect(snapshot?.revision?.number ?? delta?.to?.number).toBe(revision);
  open.close();
  await plane.stopGrpc();
  await expect.poll(() => listeners.size).toBe(0);
});

test('a sidecar enrols, and an old connection is replaced by a new one without a denial', async () => {
  if (tls.grpc === null) throw new Error('there is TLS');
  await plane.stopGrpc();
  plane.tls = { ...tls.grpc, connectionMs: 400, graceMs: 50 };
  await plane.startGrpc();
  const { sidecar, events, reaches } = await followPlane(plane, {
    key: sync.key,
    plaintext: false,
    tls: { kind: 'enrolled', ca: await tls.authorities(), enrol: `127.0.0.1:${tls.enrolPort}`, tokenFile: null },
  });
  const opened = (): number => events.filter(({ message }) => message === 'policy stream open').length;
  for (let round = 0; opened() < 3; round += 1)
    await reaches(await plane.writePolicy({ tools: { [`t.r${round}`]: { api: { permission: 'deny' } } } }));
  expect(sidecar.cell.refused).toBeNull();
  expect(JSON.stringify(events)).not.toMatch(/UNAUTHENTICATED|refuse/i);
});

test('members can read the authorities, and so can a key of sidecars; metrics show when certificates expire', async () => {
  const pem = await tls.authorities();
  expect(await plane.ask('GET', '/api/v1/authorities')).toMatchObject({ status: 200, body: { ok: true, authorities: pem } });
  expect((await plane.ask('GET', '/api/v1/authorities', { key: sync.key })).status).toBe(200);
  expect((await plane.ask('GET', '/api/v1/authorities', { key: null })).status).toBe(401);
  const { key } = await plane.issueKey(['agents.read']);
  expect((await plane.ask('GET', '/api/v1/authorities', { key })).status).toBe(403);
  const metric = await plane.registry.getSingleMetricAsString('tollgate_certificate_expires_seconds');
  const until = Date.parse(new X509Certificate(pem).validTo) / 1_000;
  expect(metric).toContain(`{certificate="authority"} ${until}`);
  expect(metric).toMatch(/\{certificate="server"\} \d+/);
  expect(tls.problem).toBeNull();
});

test('without an authority, or with a port in use, it reports what is wrong', async () => {
  const steps: Undo = [];
  const config = { host: '127.0.0.1', enrolPort: '0', tlsNames: null, tlsDir: null };
  const other = createSealer(['another-key-of-at-least-32-characters!'], randomBytes);
  const deps = { ...plane.deps, env: {}, rest: null, log, authenticate: (header?: string) => authenticate(plane.deps, header) };
  try {
    const closed = await wireTls({ ...deps, sealer: other, config, registry: new Registry() }, steps);
    expect([closed.problem, closed.enrolPort]).toEqual([expect.stringContaining('encrypted with a different TOLLGATE_SECRET_KEY'), null]);
    await expect(closed.authorities()).rejects.toMatchObject({ code: 'unavailable' });
    const taken = { ...config, enrolPort: String(tls.enrolPort) };
    await expect(wireTls({ ...deps, sealer, config: taken, registry: new Registry() }, steps)).rejects.toThrow(/EADDRINUSE/);
    const none = await wireTls({ ...deps, sealer: null, config: { ...config, enrolPort: null }, registry: new Registry() }, steps);
    expect([none.grpc, none.problem]).toEqual([null, null]);
    await expect(none.authorities()).rejects.toMatchObject({ code: 'not_found' });
  } finally {
    await undoAll(steps, log);
  }
});
