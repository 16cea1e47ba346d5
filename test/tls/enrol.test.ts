// The TLS endpoint where sidecars get certificates: which callers get one, which do not and why, and that a renewal of
// the listener's certificate closes no connection.
import { createECDH, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
import { Agent, request } from 'node:https';
import { AppError } from '@tollgate/proto/contract';
import { Registry } from 'prom-client';
import { expect, onTestFinished, test } from 'vitest';
import type { Actor } from '../../control-plane/access/rules/actor.ts';
import { unauthenticated } from '../../control-plane/base/refusal.ts';
import { startEnrolListener } from '../../control-plane/certificates/enrol/listener.ts';
import { createEnrolMetrics } from '../../control-plane/certificates/enrol/metrics.ts';
import { type EnrolDeps, startEnrolServer } from '../../control-plane/certificates/enrol/server.ts';
import { createKubernetes } from '../../control-plane/injector/kubernetes-api.ts';
import { makeAuthority, makeClient, makeServer, type Pair } from '../../control-plane/certificates/x509/certificate.ts';
import type { Material } from '../../control-plane/certificates/tls/material.ts';
import { startFakeKubernetes } from '../inject/fake-kubernetes.ts';

const validity = { from: new Date(Date.now() - 60_000), until: new Date(Date.now() + 3_600_000) };
const authority = makeAuthority('Tollgate', validity);
const shownPair = (): Pair => makeServer(authority, { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'], validity });

const key = `gsk_acme_${'k'.repeat(32)}`;
const token = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.c2lnbmF0dXJl';
const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const pemOf = (of: KeyObject): string => of.export({ type: 'spki', format: 'pem' }).toString();

const actor: Actor = {
  workspaceId: 1,
  slug: 'acme',
  epoch: 'e',
  revision: 1,
  credential: { kind: 'key', hash: 'h', expiresAt: null },
  keyId: 'k_01',
  onMember: false,
  sub: 'apikey:k_01',
  uid: null,
  memberUid: 'ann',
  role: 'owner',
  scopes: ['sidecar.sync'],
  pins: { agent: null, tier: null, client: null },
  expiresAt: null,
};

function enrolling(overrides: Partial<EnrolDeps>) {
  const lines: object[] = [];
  const log = { warn: (fields: object) => void lines.push(fields), error: (fields: object) => void lines.push(fields) };
  const registry = new Registry();
  const deps: EnrolDeps = {
    authenticate: async (header) => {
      if (header !== `Bearer ${key}`) throw unauthenticated('the API key is malformed, unknown, revoked or expired');
      return actor;
    },
    kubernetes: null,
    issue: (of, uri) => ({ certificate: makeClient(authority, { publicKey: of, uri, validity }), expiresAt: validity.until }),
    authorities: async () => authority.certificate,
    clock: () => new Date(),
    metrics: createEnrolMetrics(registry),
    log,
    ...overrides,
  };
  return { deps, lines, registry };
}

async function listener(overrides: Partial<EnrolDeps> = {}) {
  const { deps, lines, registry } = enrolling(overrides);
  const server = await startEnrolServer(deps, { host: '127.0.0.1', port: 0 }, shownPair());
  onTestFinished(() => server.close(1_000));
  return { server, lines, registry };
}

interface Asked {
  readonly bearer?: string | null;
  readonly body?: unknown;
  readonly path?: string;
  readonly method?: string;
  readonly type?: string;
  readonly agent?: Agent;
}

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly serial: string;
}

function ask(
  port: number,
  {
    bearer = key,
    body = { publicKey: pemOf(publicKey) },
    path = '/v1/certificate',
    method = 'POST',
    type = 'application/json',
    agent,
  }: Asked = {},
): Promise<Answer> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return new Promise((done, fail) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port,
        path,
        method,
        ca: authority.certificate,
        agent: agent ?? new Agent({ keepAlive: false }),
        headers: {
          'content-type': type,
          'content-length': Buffer.byteLength(text),
          ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
        },
      },
      (response) => {
        const { socket } = response;
        const serial = 'getPeerCertificate' in socket ? (socket as import('node:tls').TLSSocket).getPeerCertificate().serialNumber : '';
        let answered = '';
        response.setEncoding('utf8').on('data', (piece: string) => (answered += piece));
        response.on('error', fail);
        response.on('end', () =>
          done({
            status: response.statusCode ?? 0,
            body: JSON.parse(answered) as Record<string, unknown>,
            headers: response.headers,
            serial,
          }),
        );
      },
    );
    sent.on('error', fail);
    sent.end(text);
  });
}

type Extra = Readonly<Record<string, unknown>>;
const pod: Extra = { 'authentication.kubernetes.io/pod-name': ['app-0'], 'authentication.kubernetes.io/pod-uid': ['u'] };
const goodStatus = {
  authenticated: true,
  audiences: ['tollgate'],
  user: { username: 'system:serviceaccount:agents:default', uid: 'u', groups: [], extra: pod },
};

async function cluster(status: object) {
  const fake = await startFakeKubernetes('tollgate-injector');
  const kubernetes = createKubernetes(fake.account);
  onTestFinished(async () => {
    await kubernetes.close();
    await fake.close();
  });
  const reviewed: unknown[] = [];
  fake.review = (spec) => {
    reviewed.push(spec);
    return status;
  };
  return { fake, kubernetes, reviewed };
}

test('a key that sidecars may use gets a certificate that names its workspace and itself', async () => {
  const { server, registry } = await listener();
  const { status, body, headers } = await ask(server.port);
  expect([status, headers['cache-control'], Object.keys(body)]).toEqual([200, 'no-store', ['certificate', 'authorities', 'expiresAt']]);
  const certificate = new X509Certificate(String(body['certificate']));
  expect(certificate.subjectAltName).toBe('URI:tollgate://workspace/acme/key/k_01');
  expect(certificate.publicKey.equals(publicKey)).toBe(true);
  expect(certificate.verify(new X509Certificate(String(body['authorities'])).publicKey)).toBe(true);
  expect(Date.parse(String(body['expiresAt']))).toBe(validity.until.getTime());
  expect(await registry.getSingleMetricAsString('tollgate_certificates_issued_total')).toContain('{by="key"} 1');
});

test("a pod's token gets a certificate that names the pod, and Kubernetes checked it for our audience", async () => {
  const { kubernetes, reviewed } = await cluster(goodStatus);
  const { server } = await listener({ kubernetes });
  const { status, body } = await ask(server.port, { bearer: token });
  expect(status).toBe(200);
  expect(new X509Certificate(String(body['certificate'])).subjectAltName).toBe('URI:tollgate://cluster/ns/agents/sa/default/pod/app-0');
  expect(reviewed).toEqual([{ token, audiences: ['tollgate'] }]);
});

const user = goodStatus.user;
test.each([
  ['is not good', { authenticated: false, error: 'expired' }, 401, /audience tollgate/],
  ['is for another audience', { ...goodStatus, audiences: ['https://kubernetes.default.svc'] }, 401, /audience tollgate/],
  ['comes from an API server without audiences', { ...goodStatus, audiences: undefined }, 401, /audience tollgate/],
  ['is of a user', { ...goodStatus, user: { ...user, username: 'admin' } }, 403, /does not belong to a service account/],
  ['is bound to no pod', { ...goodStatus, user: { ...user, extra: {} } }, 403, /not bound to a pod/],
  [
    'is bound to two pods',
    { ...goodStatus, user: { ...user, extra: { 'authentication.kubernetes.io/pod-name': ['a', 'b'] } } },
    403,
    /not bound to a pod/,
  ],
])('a token that %s gets no certificate', async (_, status, code, words) => {
  const { kubernetes } = await cluster(status);
  const { server, lines } = await listener({ kubernetes });
  const answer = await ask(server.port, { bearer: token });
  expect([answer.status, answer.body]).toEqual([code, { error: expect.stringMatching(words) }]);
  expect(lines).toEqual([]);
});

test('where the Kubernetes API is unreachable, or does not let us review tokens, the answer is 503 with the reason', async () => {
  const { fake, kubernetes } = await cluster(goodStatus);
  const { server, lines } = await listener({ kubernetes });
  fake.refuse.status = 403;
  fake.refuse.times = 1;
  const forbidden = await ask(server.port, { bearer: token });
  expect([forbidden.status, forbidden.headers['retry-after'], forbidden.body['error']]).toEqual([
    503,
    '5',
    expect.stringContaining('may not create tokenreviews'),
  ]);
  fake.refuse.status = 500;
  fake.refuse.times = 1;
  expect((await ask(server.port, { bearer: token })).body['error']).toBe('the Kubernetes API answered 500 to the token review');
  const away = await listener({ kubernetes: { ask: () => Promise.reject(new Error('connect ECONNREFUSED')) } });
  expect(await ask(away.server.port, { bearer: token })).toMatchObject({
    status: 503,
    body: { error: expect.stringContaining('cannot be reached') },
  });
  expect(JSON.stringify([...lines, ...away.lines])).not.toContain(token);
  expect(lines).toHaveLength(2);
});

test.each([
  ['nothing shown', { bearer: null }, 401, /Authorization: Bearer/],
  ['an unknown key', { bearer: `gsk_acme_${'x'.repeat(32)}` }, 401, /unknown/],
  ['a token outside a cluster', { bearer: token }, 403, /does not run in a Kubernetes cluster/],
  ['another path', { path: '/v1/certificates' }, 404, /the only path here is \/v1\/certificate/],
  ['another method', { method: 'PUT' }, 400, /POST/],
  ['another type', { type: 'text/plain' }, 415, /application\/json/],
  ['no JSON', { body: '{' }, 400, /not JSON/],
  ['no object', { body: '[]' }, 400, /an object/],
  ['no key in it', { body: {} }, 400, /publicKey must be/],
  ['a field too many', { body: { publicKey: pemOf(publicKey), ttl: '1y' } }, 400, /other than publicKey/],
  ['a body too large', { body: `"${'x'.repeat(5_000)}"` }, 413, /at most 4096 bytes/],
])('%s: rejected, with a message and no certificate', async (_, asked, code, words) => {
  const { server } = await listener();
  const answer = await ask(server.port, asked);
  expect([answer.status, answer.body]).toEqual([code, { error: expect.stringMatching(words) }]);
});

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey;
const otherCurve = generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey;
const privatePem = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const point = createECDH('prime256v1').generateKeys();
point.writeUInt8(point.readUInt8(64) ^ 1, 64);
const notOnCurve = `-----BEGIN PUBLIC KEY-----\n${Buffer.concat([
  Buffer.from('3059301306072a8648ce3d020106082a8648ce3d030107034200', 'hex'),
  point,
]).toString('base64')}\n-----END PUBLIC KEY-----\n`;

test.each([
  ['RSA', pemOf(rsa)],
  ['P-384', pemOf(otherCurve)],
  ['a private key', privatePem],
  ['a point that is not on the curve', notOnCurve],
  ['an authority, which is a certificate', authority.certificate],
  ['two keys', pemOf(publicKey) + pemOf(publicKey)],
])('no certificate is issued for %s', async (_, pem) => {
  const { server } = await listener();
  expect(await ask(server.port, { body: { publicKey: pem } })).toMatchObject({
    status: 400,
    body: { error: expect.stringContaining('EC P-256') },
  });
});

test('a key without the scope gets none; without a database or an authority, the answer is 503 with the reason', async () => {
  const scopeless = await listener({ authenticate: async () => ({ ...actor, scopes: ['govern'] }) });
  expect(await ask(scopeless.server.port)).toMatchObject({
    status: 403,
    body: { error: 'the key lacks the scope "sidecar.sync" (for a library: "sidecar.library")' },
  });
  const outage = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  const dark = await listener({ authenticate: () => Promise.reject(outage) });
  expect(await ask(dark.server.port)).toMatchObject({ status: 503, body: { error: 'the database cannot be reached; try again' } });
  const none = await listener({ issue: () => null });
  expect(await ask(none.server.port)).toMatchObject({ status: 503, body: { error: 'no authority can sign certificates now; try again' } });
  const broken = await listener({ authorities: () => Promise.reject(new AppError({ code: 'unavailable', publicMessage: 'gone' })) });
  expect((await ask(broken.server.port)).status).toBe(503);
  expect(JSON.stringify([dark.lines, none.lines])).not.toContain('gsk_');
});

test('a pod that asks too often gets a time to retry, and other pods are served', async () => {
  const { fake, kubernetes } = await cluster(goodStatus);
  const { server } = await listener({ kubernetes });
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  for (let times = 0; times < 12; times += 1) expect((await ask(server.port, { bearer: token, agent })).status).toBe(200);
  const late = await ask(server.port, { bearer: token, agent });
  expect([late.status, Number(late.headers['retry-after']) > 0]).toEqual([429, true]);
  fake.review = () => ({ ...goodStatus, user: { ...user, extra: { 'authentication.kubernetes.io/pod-name': ['app-1'] } } });
  expect((await ask(server.port, { bearer: token, agent })).status).toBe(200);
});

test('while Kubernetes is slow to review tokens, callers with a key are served', async () => {
  let waiting = 0;
  let review = (): void => {};
  const reviewed = new Promise<void>((done) => (review = done));
  const slow = async (): Promise<{ readonly status: number; readonly body: null }> => {
    waiting += 1;
    await reviewed;
    return { status: 500, body: null };
  };
  const { server } = await listener({ kubernetes: { ask: slow } });
  const answers = Array.from({ length: 64 }, () => ask(server.port, { bearer: token }));
  await expect.poll(() => waiting).toBe(64);
  expect((await ask(server.port, { bearer: token })).body['error']).toMatch(/too many certificate requests/);
  expect((await ask(server.port)).status).toBe(200);
  review();
  expect((await Promise.all(answers)).every(({ status }) => status === 503)).toBe(true);
});

test('a new certificate of the listener applies to new connections, and open ones continue', async () => {
  const { server } = await listener();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const before = await ask(server.port, { agent });
  server.use(shownPair());
  const [kept, fresh] = [await ask(server.port, { agent }), await ask(server.port)];
  expect([kept.status, kept.serial]).toEqual([200, before.serial]);
  expect([fresh.status, fresh.serial === before.serial]).toEqual([200, false]);
});

/** The shown material, controlled by the test. */
function shown() {
  const listeners = new Set<(material: Material) => void>();
  const maintained = {
    current: null as Material | null,
    problem: null,
    failure: null,
    onChange: (heard: (material: Material) => void) => {
      listeners.add(heard);
      return () => void listeners.delete(heard);
    },
    check: async () => undefined,
    close: async () => undefined,
    use: () => {
      const material = { ...shownPair(), authorities: [authority.certificate] };
      maintained.current = material;
      for (const heard of listeners) heard(material);
    },
  };
  return { maintained, listeners };
}

test('the listener waits for the first certificate, and uses each later one', async () => {
  const { maintained, listeners } = shown();
  const enrolment = await startEnrolListener(enrolling({}).deps, maintained, { host: '127.0.0.1', port: 0 });
  expect(enrolment.port).toBeNull();
  maintained.use();
  await expect.poll(() => enrolment.port).not.toBeNull();
  const first = await ask(enrolment.port ?? 0);
  maintained.use();
  const second = await ask(enrolment.port ?? 0);
  expect([first.status, second.status, first.serial === second.serial]).toEqual([200, 200, false]);
  await enrolment.close(1_000);
  expect(listeners.size).toBe(0);
});
