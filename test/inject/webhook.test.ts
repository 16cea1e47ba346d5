// The webhook over real TLS, called as an API server does, and by any other client that finds its port.
import { readFileSync, readdirSync } from 'node:fs';
import { connect } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type Injector, startInjector } from '../../control-plane/injector/injector.ts';
import { readSettings } from '../../deploy/inject/settings.ts';
import { makeAuthority, makeServer } from '../../control-plane/certificates/x509/certificate.ts';
import { run } from '../cli/cli.ts';
import { applyPatch } from './apply-patch.ts';
import { ask, type Asking, reviewOf, serviceName } from './reviewing.ts';

const folder = fileURLToPath(new URL('../cases/inject/', import.meta.url));
const validity = { from: new Date(Date.now() - 60_000), until: new Date(Date.now() + 3_600_000) };
const authority = makeAuthority('test', validity);
const read = readSettings(parse(readFileSync(`${folder}settings.yaml`, 'utf8')));
if ('problems' in read) throw new Error('the settings of the cases have problems');
const { settings } = read;
const registry = new Registry();
const failures: object[] = [];
let injector: Injector;
let asking: Asking;

beforeAll(async () => {
  const pair = makeServer(authority, { dnsNames: [serviceName], validity });
  const log = { info: () => undefined, warn: () => undefined, error: (details: object) => void failures.push(details) };
  injector = await startInjector(
    { settings, ownNamespace: 'tollgate', certificate: async () => pair, registry, log },
    { host: '127.0.0.1', port: 0 },
  );
  asking = { port: injector.port ?? 0, ca: authority.certificate };
});
afterAll(() => injector.close(1_000));

interface Response {
  readonly uid?: unknown;
  readonly allowed?: unknown;
  readonly patch?: unknown;
  readonly patchType?: unknown;
  readonly warnings?: unknown;
  readonly status?: { readonly code?: unknown; readonly message?: unknown };
}

const pod = { metadata: { name: 'web' }, spec: { containers: [{ name: 'app', image: 'app' }] } };
const responseTo = async (review: string): Promise<Response> => {
  const { status, body } = await ask(review, asking);
  expect([status, body['apiVersion'], body['kind']]).toEqual([200, 'admission.k8s.io/v1', 'AdmissionReview']);
  return body['response'] as Response;
};
const patched = (object: unknown, { patch }: Response): unknown =>
  applyPatch(object, JSON.parse(Buffer.from(String(patch), 'base64').toString('utf8')));

interface Manifest {
  readonly kind: string;
  readonly spec?: { readonly template?: object };
}

/** The first pod, or pod template, of each case. */
const pods = readdirSync(folder).flatMap((file): readonly (readonly [string, object])[] => {
  if (!file.endsWith('.input.yaml')) return [];
  const text = readFileSync(`${folder}${file}`, 'utf8').split(/^---$/m)[0] ?? '';
  const value = parse(text, { version: '1.1' }) as Manifest;
  if (value.kind === 'Pod') return [[file, value]];
  const template = value.spec?.template;
  return template === undefined ? [] : [[file, { apiVersion: 'v1', kind: 'Pod', ...template }]];
});

test.each(pods)('the pod of %s is patched to the result of `tollgate inject`', async (_file, object) => {
  const answered = await responseTo(reviewOf(object));
  expect(answered).toMatchObject({ uid: '705ab4f5-6393-11e8-b7cc-42010a800002', allowed: true, patchType: 'JSONPatch' });
  const offline = await run(['inject', '-f', '-', '--settings', `${folder}settings.yaml`, '--json'], { stdin: JSON.stringify(object) });
  expect(patched(object, answered)).toEqual(JSON.parse(offline.out));
});

test('a pod that is already injected is allowed with an empty patch', async () => {
  const once = patched(pod, await responseTo(reviewOf(pod)));
  expect(patched(once, await responseTo(reviewOf(once)))).toEqual(once);
});

test('a pod that cannot be injected is rejected, and its creator gets the reason', async () => {
  const answered = await responseTo(reviewOf({ ...pod, spec: { ...pod.spec, hostNetwork: true } }));
  expect(answered.allowed).toBe(false);
  expect(answered.status).toMatchObject({ code: 422, message: expect.stringMatching(/^spec\.hostNetwork must not be true/) });
});

test('of a thousand problems the first are reported, and the number of the others', async () => {
  const labels = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`tollgate.dev/x${at}`, '']));
  const { status } = await responseTo(reviewOf({ ...pod, metadata: { labels } }));
  expect(status?.message).toMatch(/x19".*; and 980 more$/);
});

test.each([
  [{ shareProcessNamespace: true }, 'share their processes'],
  [{ hostPID: true }, 'every process of its node'],
])('a surprising result causes a warning: %j', async (more, words) => {
  const answered = await responseTo(reviewOf({ ...pod, spec: { ...pod.spec, ...more } }));
  expect(answered).toMatchObject({ allowed: true, warnings: [expect.stringContaining(words)] });
});

test.each([
  ['of kube-system', { namespace: 'kube-system' }],
  ['of the control plane', { namespace: 'tollgate' }],
  ['that is updated', { operation: 'UPDATE' }],
])('a pod %s passes unchanged, whatever the configuration contains', async (_what, more) => {
  expect(await responseTo(reviewOf(pod, more))).toEqual({ uid: '705ab4f5-6393-11e8-b7cc-42010a800002', allowed: true });
});

test('a pod that opts out passes unchanged', async () => {
  const alone = { metadata: { labels: { 'tollgate.dev/inject': 'disabled' } }, spec: { hostNetwork: true } };
  expect(await responseTo(reviewOf(alone))).toEqual({ uid: '705ab4f5-6393-11e8-b7cc-42010a800002', allowed: true });
});

test.each([
  ['of another kind', { kind: { group: 'apps', version: 'v1', kind: 'Deployment' } }],
  ['without an object', { object: null }],
  ['whose object is a list', { object: [] }],
])('a review %s is rejected', async (_what, more) => {
  expect(await responseTo(reviewOf(pod, more))).toMatchObject({ allowed: false, status: { code: 400 } });
});

describe('a request that is not a review', () => {
  const asked = async (body: string | Buffer, more: Partial<Asking> = {}): Promise<readonly [number, unknown]> => {
    const { status, body: answered } = await ask(body, { ...asking, ...more });
    expect(Object.keys(answered)).toEqual(['error']);
    return [status, answered['error']];
  };
  test.each([
    ['no JSON', '{', 'the body is not JSON'],
    ['nothing', '', 'the body is not JSON'],
    ['a list', '[]', 'the body must be an AdmissionReview of admission.k8s.io/v1'],
    ['null', 'null', 'the body must be an AdmissionReview of admission.k8s.io/v1'],
    [
      'of an older version',
      reviewOf(pod).replace('k8s.io/v1"', 'k8s.io/v1beta1"'),
      'the body must be an AdmissionReview of admission.k8s.io/v1',
    ],
    ['without a request', '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}', 'the review has no request'],
    ['without a uid', reviewOf(pod, { uid: undefined }), 'the request of the review has no uid'],
    ['with a uid of another form', reviewOf(pod, { uid: 7 }), 'the request of the review has no uid'],
  ])('%s: 400', async (_what, body, error) => {
    expect(await asked(body)).toEqual([400, error]);
  });

  test('another content type, method or path is rejected with its own status', async () => {
    const review = reviewOf(pod);
    expect((await asked(review, { headers: { 'content-type': 'text/plain' } }))[0]).toBe(415);
    expect((await asked(review, { method: 'PUT' }))[0]).toBe(405);
    expect((await asked(review, { path: '/' }))[0]).toBe(404);
    expect(
      (await ask(review, { ...asking, headers: { 'content-type': 'application/json; charset=utf-8' }, path: '/inject?timeout=5s' })).status,
    ).toBe(200);
  });

  test('a body that is too large is rejected before it is read, and the next review is answered', async () => {
    const large = await ask('{}', { ...asking, headers: { 'content-length': String(9 * 1024 * 1024) } });
    expect(large.status).toBe(413);
    expect(await responseTo(reviewOf(pod))).toMatchObject({ allowed: true });
  });

  test('a client that disconnects before the end of the body is not a failure', async () => {
    const malformedSoFar = async (): Promise<number> => Number(/result="malformed"\} (\d+)/.exec(await registry.metrics())?.[1] ?? 0);
    const before = await malformedSoFar();
    const socket = connect({ port: asking.port, host: '127.0.0.1', servername: serviceName, ca: authority.certificate });
    socket.write('POST /inject HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{');
    socket.once('secureConnect', () => setImmediate(() => socket.end(() => socket.destroy())));
    await expect.poll(malformedSoFar).toBe(before + 1);
    expect(failures).toEqual([]);
  });

  test('JSON that is nested a hundred thousand levels deep does no harm', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const answered = await ask(reviewOf(pod).replace('"app"', deep), asking);
    expect([200, 500]).toContain(answered.status);
    expect((answered.body['response'] as Response | undefined)?.allowed ?? false).toBe(false);
    expect(await responseTo(reviewOf(pod))).toMatchObject({ allowed: true });
  });

  test('plain text on the TLS port is cut off, and the next review is answered', async () => {
    const socket = connect({ port: asking.port, host: '127.0.0.1', servername: 'elsewhere', ca: authority.certificate });
    expect(await new Promise((done) => socket.once('error', ({ message }) => done(message)))).toMatch(/altnames/);
    expect(await responseTo(reviewOf(pod))).toMatchObject({ allowed: true });
  });
});

test('reviews are counted by their result, and no other failure happened', async () => {
  const metrics = await registry.metrics();
  for (const result of ['injected', 'left', 'refused', 'malformed'])
    expect(metrics).toMatch(new RegExp(`tollgate_injection_reviews_total\\{result="${result}"\\} [1-9]`));
  expect(failures).toEqual([]);
});
